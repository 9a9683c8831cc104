/* What runs in a virtual machine: it starts commands for whoever is connected to one of the
 * machine's serial ports (virtio-serial), each port in a process of its own.
 *
 *     plimsoll-agent PREFIX COUNT     serves the ports PREFIX0, PREFIX1 … ; never ends
 *
 * A frame is a type, a length (two bytes, big-endian, at most MOST) and so many bytes. Zeros
 * between frames mean nothing: MOST + HEAD of them complete any frame that a lost connection or
 * a reset of the machine cut short, so each side sends them before its first frame.
 *
 *     to the agent                              from the agent
 *     H nonce[8]  a session begins; what ran    W nonce[8]  it has begun
 *                 of the one before is left     B           the agent has been started
 *     C bytes     a piece of the command        O bytes     its output
 *     G           start it by /bin/sh           R bytes     its standard error
 *     I bytes     its standard input            a count[4]  bytes of input it has taken
 *     E           end of its input              P           it reads no more input
 *     K           kill it                       X value how it has ended: how = 1 exit code,
 *     A stream count[4]  bytes of O or R                    2 signal, 3 not started (errno)
 *                 that have been read
 *     T rows[2] columns[2]  before it is started: it gets a terminal of this size, for all three
 *                 streams; later: the terminal has this size now
 *
 * A command whose session ends or whose connection is lost sees the end of its input, and is killed
 * when it has not ended GRACE seconds later: it may have files to remove.
 *
 * In each stream at most WINDOW bytes are under way that the reader has not acknowledged. So both
 * sides can always take what comes, and neither waits for the other while that waits for it. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    HEAD = 3,
    MOST = 8192,
    WINDOW = 128 << 10,
    COMMAND = 128 << 10, /* the kernel takes no longer argument */
    QUEUE = 8 * (HEAD + MOST),
    WORTH_TELLING = WINDOW / 4,
    LOOK_AGAIN = 5000, /* milliseconds; only if the kernel's signal got lost */
    GRACE = 30,        /* seconds */
    LEFT = 32,
};

/* The port, and what is to be written to it. */
static int port, signals;
static uint8_t queue[QUEUE];
static size_t queued;

/* The frame that is being read. */
static uint8_t frame[HEAD + MOST];
static size_t have;

/* The session and its command. */
static int session;
static char command[COMMAND];
static size_t command_length;
static pid_t pid;
static int in = -1, out[2] = {-1, -1};
static size_t window[2];
static uint8_t input[WINDOW];
static size_t waiting; /* bytes of input that the command has not taken */
static size_t untold;  /* bytes that it has, which the other side does not know */
static int input_ends;
static int on_terminal;
static struct winsize size; /* of the terminal */
static int over, status; /* it has ended, and how */

/* Commands of sessions that have ended, and when they are killed. */
static struct {
    pid_t pid;
    time_t end;
} left[LEFT];

static void *put32(uint8_t *to, uint32_t value) {
    for (int i = 3; i >= 0; i--, value >>= 8)
        to[i] = (uint8_t)value;
    return to;
}

static uint32_t get32(const uint8_t *from) {
    return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8 | from[3];
}

/* There is always room: output is read only while there is, and other frames are few. */
static void send_frame(char type, const void *bytes, size_t length) {
    if (queued + HEAD + length > sizeof queue)
        return;
    uint8_t *to = queue + queued;
    to[0] = (uint8_t)type, to[1] = (uint8_t)(length >> 8), to[2] = (uint8_t)length;
    if (length)
        memcpy(to + HEAD, bytes, length);
    queued += HEAD + length;
}

static void flush_queue(void) {
    ssize_t count = queued ? write(port, queue, queued) : 0;
    if (count > 0) {
        queued -= (size_t)count;
        memmove(queue, queue + count, queued);
    }
}

static void shut(int *fd) {
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static time_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec;
}

static void forget_command(void) {
    pid = 0;
    shut(&in), shut(&out[0]), shut(&out[1]);
    waiting = 0, untold = 0, input_ends = 0, command_length = 0, over = 0, on_terminal = 0;
}

/* With what it started in its own group, it ends. */
static void kill_command(void) {
    if (pid > 0)
        kill(-pid, SIGKILL);
    forget_command();
}

/* Nobody hears the command any more: it sees that its input has ended. */
static void leave_command(void) {
    int n = 0;
    while (n < LEFT && left[n].pid)
        n++;
    if (pid <= 0 || n == LEFT) {
        kill_command();
        return;
    }
    left[n].pid = pid, left[n].end = now() + GRACE;
    alarm(GRACE);
    forget_command();
}

/* Kills those that have had their time. */
static void kill_left(void) {
    time_t next = 0;
    for (int n = 0; n < LEFT; n++) {
        if (left[n].pid && left[n].end <= now()) {
            kill(-left[n].pid, SIGKILL);
            left[n].pid = 0;
        } else if (left[n].pid && (!next || left[n].end < next)) {
            next = left[n].end;
        }
    }
    if (next)
        alarm((unsigned)(next - now() + 1));
}

static void ended(uint8_t value, uint8_t how) {
    send_frame('X', (uint8_t[]){value, how}, 2);
    pid = 0, over = 0;
    shut(&in), shut(&out[0]), shut(&out[1]);
}

/* A terminal for all that the command reads and writes, instead of pipes. Closing it hangs up. */
static int open_terminal(int pipes[3][2]) {
    int unlock = 0, master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master < 0)
        return -1;
    pipes[0][1] = master;
    if (ioctl(master, TIOCSPTLCK, &unlock) < 0 || ioctl(master, TIOCSWINSZ, &size) < 0)
        return -1;
    pipes[0][0] = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    pipes[1][0] = fcntl(master, F_DUPFD_CLOEXEC, 0);
    pipes[1][1] = fcntl(pipes[0][0], F_DUPFD_CLOEXEC, 0);
    pipes[2][1] = fcntl(pipes[0][0], F_DUPFD_CLOEXEC, 0);
    return pipes[1][0] < 0 || pipes[2][1] < 0 ? -1 : 0;
}

static void start_command(void) {
    int pipes[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
    if (on_terminal && open_terminal(pipes) < 0)
        goto failed;
    for (int i = 0; i < 3 && !on_terminal; i++)
        if (pipe2(pipes[i], O_CLOEXEC) < 0)
            goto failed;
    command[command_length] = 0;
    pid = fork();
    if (pid < 0)
        goto failed;
    if (pid == 0) {
        setsid();
        if (on_terminal)
            ioctl(pipes[0][0], TIOCSCTTY, 0);
        dup2(pipes[0][0], 0), dup2(pipes[1][1], 1), dup2(pipes[2][1], 2);
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        signal(SIGPIPE, SIG_DFL);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    shut(&pipes[0][0]), shut(&pipes[1][1]), shut(&pipes[2][1]);
    in = pipes[0][1], out[0] = pipes[1][0], out[1] = pipes[2][0];
    fcntl(in, F_SETFL, O_NONBLOCK), fcntl(out[0], F_SETFL, O_NONBLOCK);
    fcntl(out[1], F_SETFL, O_NONBLOCK); /* a terminal has no such */
    window[0] = window[1] = WINDOW;
    return;
failed:;
    int why = errno;
    for (int i = 0; i < 3; i++)
        shut(&pipes[i][0]), shut(&pipes[i][1]);
    ended((uint8_t)why, 3);
}

static void take_size(const uint8_t *bytes) {
    size.ws_row = (unsigned short)(bytes[0] << 8 | bytes[1]);
    size.ws_col = (unsigned short)(bytes[2] << 8 | bytes[3]);
    if (!pid)
        on_terminal = 1;
    else if (on_terminal && out[0] >= 0)
        ioctl(out[0], TIOCSWINSZ, &size);
}

static void no_more_input(void) {
    shut(&in);
    waiting = 0;
    send_frame('P', NULL, 0);
}

static void feed(void) {
    if (in >= 0 && waiting) {
        ssize_t count = write(in, input, waiting);
        if (count < 0 && errno != EAGAIN && errno != EINTR) {
            no_more_input();
        } else if (count > 0) {
            waiting -= (size_t)count, untold += (size_t)count;
            memmove(input, input + count, waiting);
            if (untold >= WORTH_TELLING) {
                uint8_t taken[4];
                send_frame('a', put32(taken, (uint32_t)untold), 4);
                untold = 0;
            }
        }
    }
    if (in >= 0 && !waiting && input_ends)
        shut(&in);
}

/* Returns whether there may be more. */
static int pass_on(int which) {
    uint8_t bytes[MOST];
    size_t most = window[which] < MOST ? window[which] : MOST;
    if (out[which] < 0 || !most || queued + 2 * (HEAD + MOST) > sizeof queue)
        return 0;
    ssize_t count = read(out[which], bytes, most);
    if (count > 0) {
        window[which] -= (size_t)count;
        send_frame(which ? 'R' : 'O', bytes, (size_t)count);
        return 1;
    }
    if (count == 0 || (errno != EAGAIN && errno != EINTR))
        shut(&out[which]);
    return 0;
}

static void take_frame(char type, const uint8_t *bytes, size_t length) {
    if (type == 'H' && length == 8) {
        leave_command();
        session = 1;
        send_frame('W', bytes, 8);
    } else if (!session) {
        return;
    } else if (type == 'C' && !pid && command_length + length < sizeof command) {
        memcpy(command + command_length, bytes, length);
        command_length += length;
    } else if (type == 'G' && !pid) {
        start_command();
    } else if (type == 'I') {
        if (in >= 0 && waiting + length <= sizeof input) {
            memcpy(input + waiting, bytes, length);
            waiting += length;
        }
    } else if (type == 'T' && length == 4) {
        take_size(bytes);
    } else if (type == 'E') {
        input_ends = 1;
    } else if (type == 'K') {
        kill_command();
    } else if (type == 'A' && length == 5 && bytes[0] < 2) {
        size_t more = window[bytes[0]] + get32(bytes + 1);
        window[bytes[0]] = more > WINDOW ? WINDOW : more;
    }
}

static void take(const uint8_t *bytes, size_t count) {
    while (count) {
        if (!have && !*bytes) {
            bytes++, count--;
            continue;
        }
        size_t length = have < HEAD ? 0 : (size_t)frame[1] << 8 | frame[2];
        if (have == HEAD && length > MOST) { /* nonsense: wait for the next session */
            have = 0, session = 0;
            leave_command();
            continue;
        }
        size_t wanted = (have < HEAD ? HEAD : HEAD + length) - have;
        size_t some = wanted < count ? wanted : count;
        memcpy(frame + have, bytes, some);
        have += some, bytes += some, count -= some;
        length = have < HEAD ? MOST : (size_t)frame[1] << 8 | frame[2];
        if (have == HEAD + length) {
            take_frame((char)frame[0], frame + HEAD, length);
            have = 0;
        }
    }
}

static void reap(void) {
    int how;
    for (pid_t who; (who = waitpid(-1, &how, WNOHANG)) > 0;)
        if (who == pid) {
            status = how, over = 1;
        } else {
            for (int n = 0; n < LEFT; n++)
                if (who == left[n].pid) { /* what it started has nobody to wait for it */
                    kill(-who, SIGKILL);
                    left[n].pid = 0;
                }
        }
    kill_left();
}

static void serve(const char *path) {
    sigset_t set;
    sigemptyset(&set), sigaddset(&set, SIGCHLD), sigaddset(&set, SIGIO),
        sigaddset(&set, SIGALRM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    port = open(path, O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (signals < 0 || port < 0)
        exit(1);
    fcntl(port, F_SETOWN, getpid());
    memset(queue, 0, HEAD + MOST);
    queued = HEAD + MOST;
    send_frame('B', NULL, 0);
    int more = 0, connected = 0;
    for (;;) {
        enum { PORT, SIGNALS, IN, OUT, ERR, ALL };
        int room = queued + 2 * (HEAD + MOST) <= sizeof queue;
        struct pollfd fds[ALL] = {
            {port, (short)(POLLIN | (queued ? POLLOUT : 0)), 0},
            {signals, POLLIN, 0},
            {in, waiting || input_ends ? POLLOUT : 0, 0},
            {room && window[0] ? out[0] : -1, POLLIN, 0},
            {room && window[1] ? out[1] : -1, POLLIN, 0},
        };
        poll(fds, ALL, more && over ? 0 : -1);
        if (fds[SIGNALS].revents) {
            struct signalfd_siginfo info;
            while (read(signals, &info, sizeof info) > 0) {
            }
            reap();
        }
        if (fds[PORT].revents & POLLHUP) {
            /* Nobody is connected. The kernel tells by a signal when somebody is. */
            if (connected) {
                leave_command();
                session = 0, queued = 0;
            }
            connected = 0;
            fcntl(port, F_SETFL, O_NONBLOCK | O_ASYNC);
            struct pollfd again[] = {{port, POLLIN, 0}, {signals, POLLIN, 0}};
            if (poll(again, 1, 0) > 0 && again[0].revents & POLLHUP)
                poll(again + 1, 1, LOOK_AGAIN);
            fcntl(port, F_SETFL, O_NONBLOCK);
            reap();
            /* What has come may be from somebody of whom the kernel is still to hear: an answer
             * would be lost now. */
            continue;
        }
        connected = 1;
        /* The kernel gives a page at a time. */
        uint8_t bytes[MOST];
        ssize_t count;
        for (int n = 0; n < 16 && (count = read(port, bytes, sizeof bytes)) > 0; n++)
            take(bytes, (size_t)count);
        if (in >= 0 && fds[IN].revents & (POLLERR | POLLHUP))
            no_more_input();
        feed();
        more = pass_on(0) | pass_on(1);
        /* What it wrote comes first. What it left running may hold its pipes open for ever. */
        if (over && !more && queued + 2 * (HEAD + MOST) <= sizeof queue &&
            (out[0] < 0 || window[0]) && (out[1] < 0 || window[1])) {
            if (WIFEXITED(status))
                ended((uint8_t)WEXITSTATUS(status), 1);
            else
                ended((uint8_t)WTERMSIG(status), 2);
        }
        flush_queue();
    }
}

/* A process for each port whose name begins so and that has none yet: the kernel finds its ports
 * one by one. */
static int serve_all(const char *prefix, char *served, int count) {
    static const char ports[] = "/sys/class/virtio-ports";
    int found = 0;
    DIR *directory = opendir(ports);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        char path[512], name[64] = "";
        snprintf(path, sizeof path, "%s/%s/name", ports, entry->d_name);
        FILE *file = fopen(path, "re");
        if (!file)
            continue;
        int ours = fgets(name, sizeof name, file) && !strncmp(name, prefix, strlen(prefix));
        fclose(file);
        int number = ours ? atoi(name + strlen(prefix)) : -1;
        if (number < 0 || number >= count || served[number])
            continue;
        snprintf(path, sizeof path, "/dev/%s", entry->d_name);
        served[number] = 1, found++;
        if (fork() == 0)
            serve(path);
    }
    if (directory)
        closedir(directory);
    return found;
}

int main(int words, char **word) {
    char served[64] = "";
    int count = words == 3 ? atoi(word[2]) : 0;
    if (count < 1 || count > (int)sizeof served)
        return 2;
    /* As the first process of the machine, it waits for what nobody else waits for. */
    for (int left = count;;) {
        if (left > 0)
            left -= serve_all(word[1], served, count);
        if (left > 0) {
            waitpid(-1, NULL, WNOHANG);
            usleep(20000);
        } else if (wait(NULL) < 0) {
            pause();
        }
    }
}
