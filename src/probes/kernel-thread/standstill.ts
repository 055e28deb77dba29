/** How long the kernel's thread waits at most. No longer, because a thread that blocks in a system call cannot be ended. */
export const maxWaitMs = 100;
/**
 * A wait that ends this much later than it may was not the kernel's: the whole process stood still (SIGSTOP, a suspended
 * machine) or the thread got no time. The stamps of what arrived meanwhile are no better than events then.
 */
export const stoodStillMs = 250;
