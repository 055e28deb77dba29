import { packetSizeBytes, stampOf } from '../../../src/probes/ntp/packet.ts';
import { startUdpTarget, type UdpAnswer, type UdpTarget } from './udp-target.ts';

/** Answer of a time server of a test; the defaults are those of a healthy one. */
export interface NtpBehaviour {
  readonly leap?: number;
  readonly stratum?: number;
  readonly reference?: Buffer;
  /** Clock of the server minus clock of this host. */
  readonly offsetMs?: number;
  /** How long the server says it took to answer. */
  readonly servedMs?: number;
  readonly rootDelayMs?: number;
  readonly rootDispersionMs?: number;
  /** Changes the finished packet. */
  readonly change?: (packet: Buffer, request: Buffer) => Buffer;
}

/** Builds the answer of a server with the version of the request. */
export function ntpPacket(request: Buffer, behaviour: NtpBehaviour = {}): Buffer {
  const { leap = 0, stratum = 2, reference = Buffer.from([192, 0, 2, 123]), offsetMs = 0 } = behaviour;
  const { servedMs = 0, rootDelayMs = 0, rootDispersionMs = 0, change = (packet) => packet } = behaviour;
  const packet = Buffer.alloc(packetSizeBytes);
  packet[0] = (leap << 6) | ((request[0] ?? 0) & 0x38) | 4;
  packet[1] = stratum;
  packet.writeInt8(-20, 3);
  packet.writeInt32BE(Math.round((rootDelayMs / 1000) * 0x1_0000), 4);
  packet.writeUInt32BE(Math.round((rootDispersionMs / 1000) * 0x1_0000), 8);
  reference.copy(packet, 12);
  const nowMs = Date.now() + offsetMs;
  packet.writeBigUInt64BE(stampOf(nowMs - 60_000), 16);
  request.copy(packet, 24, 40, 48);
  packet.writeBigUInt64BE(stampOf(nowMs - servedMs), 32);
  packet.writeBigUInt64BE(stampOf(nowMs), 40);
  return change(packet, request);
}

/** Starts a time server. */
export function startNtpTarget(
  behaviour: NtpBehaviour | ((number: number) => NtpBehaviour | undefined) = {},
): Promise<UdpTarget> {
  const answer: UdpAnswer = (request, number) => {
    const own = typeof behaviour === 'function' ? behaviour(number) : behaviour;
    return own && ntpPacket(request, own);
  };
  return startUdpTarget(answer);
}
