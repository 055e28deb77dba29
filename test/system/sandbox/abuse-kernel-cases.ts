import type { AbuseCase } from './abuse-cases.ts';

/** Runs Perl, which can make system calls that Node cannot. The program then waits; it escapes unless it is killed. */
const perl = (program: string): string =>
  `const r = cp.spawnSync('perl', ['-e', ${JSON.stringify(program)}]); say(r.status === 0 ? 'ESCAPED' : 'refused ' + r.stderr);`;

/** Where each slot has its own user, resources that the kernel counts per user are not shared with others. */
const ofUser = (program: string): string =>
  `if (given.mechanism === 'user-namespaces') { ${perl(program)} } else say('its own');`;

const hold = 'sleep 20;';
const slow = { limits: { wallMs: 40_000 } };

/** Kernel resources of a program that no list of processes or files shows. */
export const kernelCases: readonly AbuseCase[] = [
  {
    name: 'keeps memory in files without names or mappings',
    // No file may be larger than the disk quota.
    code: perl(
      `my $name = "memory"; my $text = "x" x 1000000; my @kept; for (1..20) { my $fd = syscall(319, $name, 0); die $! if $fd < 0; open(my $file, ">&=", $fd); push @kept, $file; syswrite($file, $text) for 1..40 } ${hold}`,
    ),
    ends: ['memory'],
    ...slow,
  },
  {
    name: 'keeps memory in a file system of its own',
    code: `let got = ''; try { shell("unshare --user --map-root-user --mount sh -c 'mount -t tmpfs tmpfs .tmp && cd .tmp && for i in 1 2 3 4 5 6 7 8 9 10 11 12; do head -c 40000000 /dev/zero > f$i || exit 1; done; ${hold}'"); got = 'ESCAPED'; } catch (error) { got = 'refused ' + error.message; } say(got);`,
    // Some hosts do not let plain users mount in any namespace.
    ends: ['memory', 'exited'],
    ...slow,
  },
  {
    name: 'keeps files on the disk that have no name',
    code: `for (let i = 0; i < 4; i++) { const fd = fs.openSync('f', 'w'); fs.unlinkSync('f'); for (let j = 0; j < 40; j++) fs.writeSync(fd, Buffer.alloc(1e6, 1)); } setTimeout(() => say('ESCAPED'), 20_000)`,
    ends: ['disk'],
    ...slow,
  },
  {
    name: 'uses up the watches of its user',
    code: ofUser(
      `use POSIX; pipe(my $read, my $write); my @copies = map { POSIX::dup(fileno $read) } 1..1000; my $event = pack("LQ", 1, 0); for (1..100) { my $epoll = syscall(291, 0); for my $fd (@copies) { syscall(233, $epoll, 1, $fd, $event) == 0 or die $! } } ${hold}`,
    ),
    endsAsSameUser: ['descriptors'],
    ...slow,
  },
  {
    name: 'uses up the descriptors in flight of its user',
    code: ofUser(
      `use Socket; socketpair(my $one, my $other, AF_UNIX, SOCK_STREAM, 0); pipe(my $read, my $write); my $byte = "x"; my $fds = pack("l*", (fileno $read) x 250); my $control = pack("Qll", 16 + length $fds, 1, 1) . $fds; my $vector = pack("PQ", $byte, 1); my $message = pack("QLLPQPQll", 0, 0, 0, $vector, 1, $control, length $control, 0, 0); for (1..8) { syscall(46, fileno $one, $message, 0) == 1 or die $! } ${hold}`,
    ),
    endsAsSameUser: ['descriptors'],
    ...slow,
  },
];
