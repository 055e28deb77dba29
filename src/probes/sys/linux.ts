/** Numbers of the Linux ABI, the same on x64 and arm64 (include/uapi of the kernel). */

export const AF_INET = 2;
export const AF_INET6 = 10;
export const AF_PACKET = 17;

export const SOCK_STREAM = 1;
export const SOCK_DGRAM = 2;
export const SOCK_RAW = 3;
export const SOCK_NONBLOCK = 0o4000;
export const SOCK_CLOEXEC = 0o2000000;
export const EFD_NONBLOCK = 0o4000;
export const EFD_CLOEXEC = 0o2000000;
export const O_CLOEXEC = 0o2000000;

export const IPPROTO_ICMP = 1;
export const IPPROTO_ICMPV6 = 58;

export const SOL_SOCKET = 1;
export const SO_ERROR = 4;
export const SO_RCVBUF = 8;
export const SO_RCVBUFFORCE = 33;
export const SO_LINGER = 13;
export const SO_ATTACH_FILTER = 26;
/** Option and control message have the same number: the kernel's receive time as a `struct timespec`. */
export const SO_TIMESTAMPNS = 35;
export const SO_TIMESTAMPING = 37;
/** Its flags: report the time a packet is handed to the network, in an error queue entry without the packet. */
export const SOF_TIMESTAMPING_TX_SOFTWARE = 1 << 1;
export const SOF_TIMESTAMPING_OPT_TSONLY = 1 << 11;

export const SOL_IP = 0;
export const IP_TTL = 2;
export const IP_MTU_DISCOVER = 10;
export const IP_RECVERR = 11;
export const IP_RECVTTL = 12;

export const SOL_IPV6 = 41;
export const IPV6_UNICAST_HOPS = 16;
export const IPV6_MTU_DISCOVER = 23;
export const IPV6_RECVERR = 25;
export const IPV6_RECVHOPLIMIT = 51;
export const IPV6_HOPLIMIT = 52;

/** Values of both options: never, the system's default, always and regardless of the known path MTU. */
export const PMTUDISC_DONT = 0;
export const PMTUDISC_WANT = 1;
export const PMTUDISC_PROBE = 3;

export const SOL_RAW = 255;
export const ICMP_FILTER = 1;
export const SOL_ICMPV6 = 58;
export const ICMPV6_FILTER = 1;

export const SOL_PACKET = 263;
export const PACKET_STATISTICS = 6;
export const PACKET_AUXDATA = 8;
export const PACKET_OUTGOING = 4;
export const ETH_P_ALL = 0x0003;
export const ARPHRD_LOOPBACK = 772;

export const MSG_DONTWAIT = 0x40;
export const MSG_ERRQUEUE = 0x2000;

export const POLLIN = 0x001;
export const POLLOUT = 0x004;
export const POLLERR = 0x008;

export const EPOLLIN = 0x001;
export const EPOLLOUT = 0x004;
export const EPOLLERR = 0x008;
export const EPOLLHUP = 0x010;
export const EPOLLET = 0x80000000;
export const EPOLL_CLOEXEC = 0o2000000;
export const EPOLL_CTL_ADD = 1;

export const IPPROTO_TCP = 6;
export const TCP_SYNCNT = 7;
export const TCP_INFO = 11;

/** Ioctl that returns when the packet read last was received, as a `struct timespec`. */
export const SIOCGSTAMPNS = 0x8907;

export const CLOCK_REALTIME = 0;
export const CLOCK_MONOTONIC = 1;
/** Advances with the kernel's tick, like the times in TCP_INFO. */
export const CLOCK_MONOTONIC_COARSE = 6;

/** Source of an entry of the error queue (`sock_extended_err.ee_origin`). */
export const SO_EE_ORIGIN_LOCAL = 1;
export const SO_EE_ORIGIN_TIMESTAMPING = 4;
