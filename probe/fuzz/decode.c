/* Feeds the decoders of what the driver sends with a corpus and with mutations of it:
 *   fuzz-decode SECONDS FILE...
 * Built with sanitizers, which end it at the first wrong access. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "frame.h"
#include "random.h"
#include "request.h"
#include "text.h"

#define MOST_SEEDS 64u
#define MOST_BYTES 8192u

struct seed {
    uint8_t bytes[MOST_BYTES];
    size_t length;
};

static struct seed seeds[MOST_SEEDS];
static size_t seed_count;
static struct seed now; /* what is being tried, to be kept if it is found to be wrong */

static void keep_input(int number)
{
    FILE *file = fopen("fuzz-decode.crash", "wb");
    if (file != NULL) {
        fwrite(now.bytes, 1, now.length, file);
        fclose(file);
    }
    signal(number, SIG_DFL);
    raise(number);
}

static void require(int holds)
{
    if (!holds)
        abort();
}

/* All that the probe does with bytes before it runs a verb. */
static void decode(const struct seed *input)
{
    static const char *const keys[] = {"path", "interval_ms", NULL};
    static struct request request;
    struct request_error error;
    struct frame frame;
    uint64_t value = 7;
    /* Exactly as long as it says, so that a byte too far is seen. */
    uint8_t *bytes = malloc(input->length + 1);
    memcpy(bytes, input->bytes, input->length);
    uint8_t *exact = realloc(bytes, input->length > 0 ? input->length : 1);
    enum frame_status status =
        frame_decode(exact, input->length, OPTION_REQUEST_BYTES, &frame);
    const uint8_t *body = exact;
    size_t length = input->length;
    if (status == FRAME_WHOLE) {
        require(frame.length_bytes <= OPTION_REQUEST_BYTES);
        require(frame.body + frame.length_bytes <= exact + input->length);
        body = frame.body;
        length = frame.length_bytes;
    }
    if (request_parse(&request, body, length, &error)) {
        require(strlen(request.verb) > 0 && request.pair_count <= OPTION_REQUEST_PAIRS);
        request_only(&request, keys, &error);
        if (request_u64(&request, "interval_ms", 10, 3600000, &value, &error))
            require(value == 7 || (value >= 10 && value <= 3600000));
        require(request_text(&request, "no_such_key_at_all_in_here") == NULL);
    } else {
        require(error.on != NULL && error.happened != NULL);
    }
    free(exact);
}

static void mutate(struct seed *input, struct random *random)
{
    for (uint64_t changes = 1 + random_below(random, 8); changes > 0; changes--) {
        size_t at = input->length > 0 ? (size_t)random_below(random, input->length) : 0;
        switch (random_below(random, 5)) {
        case 0:
            input->bytes[at] = (uint8_t)random_u64(random);
            break;
        case 1:
            input->bytes[at] ^= (uint8_t)(1u << random_below(random, 8));
            break;
        case 2: /* shorter */
            input->length = at;
            break;
        case 3: /* a part doubled */
            if (input->length + input->length - at <= MOST_BYTES) {
                memmove(input->bytes + input->length, input->bytes + at, input->length - at);
                input->length += input->length - at;
            }
            break;
        default: /* what the decoders look for */
            input->bytes[at] = (uint8_t) "\n=\0PLMSQ0_"[random_below(random, 10)];
            break;
        }
    }
}

int main(int count, char **arguments)
{
    uint64_t seconds;
    if (count < 3 || !text_to_u64(arguments[1], 86400, &seconds)) {
        fputs("usage: fuzz-decode SECONDS FILE...\n", stderr);
        return 2;
    }
    signal(SIGABRT, keep_input);
    for (int i = 2; i < count && seed_count < MOST_SEEDS; i++) {
        FILE *file = fopen(arguments[i], "rb");
        if (file == NULL) {
            perror(arguments[i]);
            return 2;
        }
        seeds[seed_count].length = fread(seeds[seed_count].bytes, 1, MOST_BYTES, file);
        fclose(file);
        now = seeds[seed_count++];
        decode(&now);
    }
    struct random random = {(uint64_t)time(NULL) | 1};
    unsigned long runs = 0;
    for (time_t end = time(NULL) + (time_t)seconds; time(NULL) < end;) {
        for (int i = 0; i < 1000; i++, runs++) {
            now = seeds[random_below(&random, seed_count)];
            mutate(&now, &random);
            decode(&now);
        }
    }
    printf("fuzz-decode: %zu seeds, %lu mutations, nothing wrong\n", seed_count, runs);
    return 0;
}
