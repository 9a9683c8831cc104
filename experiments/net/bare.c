/* A bare loop of send or receive, as a floor of the CPU time that a byte costs: no clocks, no figures of TCP, no
 * sequence numbers.
 *   bare receive tcp|udp PORT BYTES            prints payload bytes per second from the first call to the last one
 *   bare send tcp|udp PORT BYTES ADDRESS SECONDS */
#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t is_over;

static void end(int signal)
{
    (void)signal;
    is_over = 1;
}

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void receive(int fd, int is_tcp, char *buffer, size_t size)
{
    if (is_tcp) {
        if (listen(fd, 1) != 0)
            fail("listen");
        fd = accept(fd, NULL, NULL);
        if (fd < 0)
            fail("accept");
    }
    double first = 0, last = 0, bytes = 0;
    for (;;) {
        ssize_t got = recv(fd, buffer, size, 0);
        if (got <= 0)
            break;
        /* Of datagrams the last one is not known, so the clock is read with each; of a stream, at its end. */
        if (!is_tcp || first == 0)
            last = now();
        if (first == 0) {
            first = last;
            /* Datagrams end with a silence. */
            struct timeval silence = {1, 0};
            if (!is_tcp && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &silence, sizeof silence) != 0)
                fail("SO_RCVTIMEO");
        }
        bytes += (double)got;
    }
    if (is_tcp)
        last = now();
    printf("%.0f\n", last > first ? bytes / (last - first) : 0);
}

static void transmit(int fd, char *buffer, size_t size, unsigned seconds)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = end;
    sigaction(SIGALRM, &action, NULL);
    alarm(seconds);
    while (!is_over)
        if (send(fd, buffer, size, 0) < 0 && !is_over)
            fail("send");
}

int main(int count, char **words)
{
    if (count < 5)
        return 2;
    int is_tcp = strcmp(words[2], "tcp") == 0, sends = strcmp(words[1], "send") == 0;
    size_t size = strtoul(words[4], NULL, 10);
    char *buffer = calloc(1, size);
    int fd = socket(AF_INET, is_tcp ? SOCK_STREAM : SOCK_DGRAM, 0), yes = 1;
    if (buffer == NULL || fd < 0)
        fail("socket");
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((in_port_t)atoi(words[3]))};
    if (!sends) {
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
        if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0)
            fail("bind");
        receive(fd, is_tcp, buffer, size);
        return 0;
    }
    if (count < 7 || inet_pton(AF_INET, words[5], &address.sin_addr) != 1)
        return 2;
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
        fail("connect");
    transmit(fd, buffer, size, (unsigned)atoi(words[6]));
    return 0;
}
