/* Text without stdio: printf alone would cost a tenth of the size allowed. */
#ifndef TEXT_H
#define TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Digits of the longest uint64_t and a terminator. */
#define TEXT_U64_BYTES 21

bool text_equal(const char *one, const char *other);
bool text_starts(const char *text, const char *prefix);
bool text_ends(const char *text, const char *suffix);

/* The first place of `part` in `text`; NULL if there is none. */
char *text_find(char *text, const char *part);

/* Decimal digits alone, at most `max`: no sign, space or rest. */
bool text_to_u64(const char *text, uint64_t max, uint64_t *value);
/* The number at the start of `text`; what follows it is ignored. Saturates; 0 without digits. */
uint64_t text_leading_u64(const char *text);
/* The digits of `value`, in `out`. */
const char *text_from_u64(uint64_t value, char out[TEXT_U64_BYTES]);

/* Writes the parts, up to a NULL, one after the other. False, and an empty `out`, if they do not
 * fit. */
bool text_join(char *out, size_t size, ...);
/* Copies at most size - 1 bytes. */
void text_copy(char *out, size_t size, const char *text);
/* Cuts white space off the end, and returns the first character that is none. */
char *text_trim(char *text);
/* Splits off the next line; NULL when there is none left. */
char *text_next_line(char **rest);
/* Splits off the next word (between spaces and tabs); NULL when there is none left. */
char *text_next_word(char **rest);
/* Cuts `line` at the first `separator` and returns the trimmed value; NULL without separator. */
char *text_split(char *line, char separator);

#endif
