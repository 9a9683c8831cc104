/* Published test vectors: McGrew and Viega, "The Galois/Counter Mode of Operation", cases 4 and 16;
 * IEEE 1619-2007, vectors 2 and 10 (its first two blocks); RFC 8439, 2.8.2; FIPS 180-4 examples. */
#include <string.h>

#include "crypto.h"

static size_t from_hex(const char *hex, uint8_t *out)
{
    size_t length = 0;
    for (; hex[0] != '\0'; hex += 2) {
        uint8_t byte = 0;
        for (int i = 0; i < 2; i++)
            byte = (uint8_t)(byte << 4 | (hex[i] <= '9' ? hex[i] - '0' : hex[i] - 'a' + 10));
        out[length++] = byte;
    }
    return length;
}

static bool is_hex(const uint8_t *bytes, const char *hex)
{
    uint8_t expected[160];
    size_t length = from_hex(hex, expected);
    return memcmp(bytes, expected, length) == 0;
}

static bool gcm_holds(size_t key_bytes, const char *expected)
{
    uint8_t key[32], nonce[12], header[20], text[60], out[76];
    struct gcm gcm;
    from_hex("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308", key);
    from_hex("cafebabefacedbaddecaf888", nonce);
    from_hex("feedfacedeadbeeffeedfacedeadbeefabaddad2", header);
    from_hex("d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
             "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
             text);
    gcm_start(&gcm, key, key_bytes);
    gcm_seal(&gcm, nonce, header, sizeof header, text, sizeof text, out, out + sizeof text);
    return is_hex(out, expected);
}

static bool xts_holds(const char *keys, uint8_t unit_number, const char *text_hex,
                      const char *expected)
{
    uint8_t key[64], unit[16] = {0}, text[32];
    struct xts xts;
    size_t key_bytes = from_hex(keys, key);
    memset(unit, unit_number, unit_number == 0x33 ? 5 : 1);
    from_hex(text_hex, text);
    xts_start(&xts, key, key_bytes);
    xts_encrypt(&xts, unit, text, sizeof text, text);
    return is_hex(text, expected);
}

static bool chacha_holds(void)
{
    static const char text[] = "Ladies and Gentlemen of the class of '99: If I could offer you only "
                               "one tip for the future, sunscreen would be it.";
    uint8_t key[32], nonce[12], header[12], out[sizeof text - 1 + CRYPTO_TAG_BYTES];
    for (size_t i = 0; i < sizeof key; i++)
        key[i] = (uint8_t)(0x80 + i);
    from_hex("070000004041424344454647", nonce);
    from_hex("50515253c0c1c2c3c4c5c6c7", header);
    chacha20_poly1305_seal(key, nonce, header, sizeof header, (const uint8_t *)text,
                           sizeof text - 1, out, out + sizeof text - 1);
    return is_hex(out, "d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d6"
                       "3dbea45e8ca9671282fafb69da92728b1a71de0a9e060b2905d6a5b67ecd3b36"
                       "92ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc"
                       "3ff4def08e4b7a9de576d26586cec64b61161ae10b594f09e26a7e902ecbd060"
                       "0691");
}

static bool sha256_holds(const char *text, const char *expected)
{
    uint8_t digest[32];
    sha256((const uint8_t *)text, strlen(text), digest);
    return is_hex(digest, expected);
}

const char *crypto_vectors_check(void)
{
    if (!gcm_holds(16, "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e"
                       "21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091"
                       "5bc94fbc3221a5db94fae95ae7121a47"))
        return "aes-128-gcm";
    if (!gcm_holds(32, "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
                       "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662"
                       "76fc6ece0f4e1768cddf8853bb2d551b"))
        return "aes-256-gcm";
    if (!xts_holds("1111111111111111111111111111111122222222222222222222222222222222", 0x33,
                   "4444444444444444444444444444444444444444444444444444444444444444",
                   "c454185e6a16936e39334038acef838bfb186fff7480adc4289382ecd6d394f0"))
        return "aes-128-xts";
    if (!xts_holds("2718281828459045235360287471352662497757247093699959574966967627"
                   "3141592653589793238462643383279502884197169399375105820974944592",
                   0xff, "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
                   "1c3b3a102f770386e4836c99e370cf9bea00803f5e482357a4ae12d414a3e63b"))
        return "aes-256-xts";
    if (!chacha_holds())
        return "chacha20-poly1305";
    if (!sha256_holds("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad") ||
        !sha256_holds("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"))
        return "sha256";
    return NULL;
}
