import { type DerElement, elementsOf, readOr, timeMs } from './der.ts';

/** The status in a stapled OCSP response (RFC 6960) for its certificate. The signature is not verified. */
export interface StapledStatus {
  /** `malformed` for an invalid response, or one about other certificates. */
  readonly status: 'good' | 'revoked' | 'unknown' | 'malformed';
  /** Epoch milliseconds; null if absent from the response. */
  readonly producedAtMs: number | null;
  readonly thisUpdateMs: number | null;
  readonly nextUpdateMs: number | null;
  readonly revokedAtMs: number | null;
}

const malformed: StapledStatus = {
  status: 'malformed',
  producedAtMs: null,
  thisUpdateMs: null,
  nextUpdateMs: null,
  revokedAtMs: null,
};
const statuses: Readonly<Record<number, StapledStatus['status']>> = {
  128: 'good',
  161: 'revoked',
  130: 'unknown',
};
const generalizedTime = 0x18;

/** @param serialNumber of the certificate, hexadecimal. */
export function readStaple(response: Buffer, serialNumber: string): StapledStatus {
  return readOr(malformed, () => statusIn(response, BigInt(`0x${serialNumber}`)));
}

function statusIn(response: Buffer, serial: bigint): StapledStatus {
  const [outcome, bytes] = elementsOf(inside(elementsOf(response)[0]));
  if (outcome?.value[0] !== 0) return malformed;
  // [0] { SEQUENCE { identifier, OCTET STRING { BasicOCSPResponse } } }
  const basic = elementsOf(inside(elementsOf(inside(bytes))[0]))[1];
  const signed = elementsOf(inside(elementsOf(inside(basic))[0]))[0];
  const parts = elementsOf(inside(signed));
  const producedAt = parts.find(({ tag }) => tag === generalizedTime);
  const singles = parts.find(({ tag }) => tag === 0x30);
  for (const single of elementsOf(inside(singles))) {
    const [about, state, thisUpdate, ...rest] = elementsOf(single.value);
    const named = elementsOf(inside(about)).at(-1);
    if (!named || BigInt(`0x${named.value.toString('hex')}`) !== serial) continue;
    const next = rest.find(({ tag }) => tag === 0xa0);
    const status = statuses[state?.tag ?? 0] ?? 'malformed';
    return {
      status,
      producedAtMs: msOrNull(producedAt),
      thisUpdateMs: msOrNull(thisUpdate),
      nextUpdateMs: next ? msOrNull(elementsOf(next.value)[0]) : null,
      revokedAtMs: status === 'revoked' ? msOrNull(elementsOf(inside(state))[0]) : null,
    };
  }
  return malformed;
}

function inside(element: DerElement | undefined): Buffer {
  return element?.value ?? Buffer.alloc(0);
}

function msOrNull(element: DerElement | undefined): number | null {
  const ms = element ? timeMs(element) : Number.NaN;
  return Number.isFinite(ms) ? ms : null;
}
