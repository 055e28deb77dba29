import { bytes, Malformed, type Preamble, quoted, Refusal, type Want } from './preamble.ts';

const startTlsOid = Buffer.from('1.3.6.1.4.1.1466.20037');
const sequence = 0x30;
const extendedResponse = 0x78;
const enumerated = 0x0a;
const maxLdapBytes = 16 * 1024;

/** RFC 4511 section 4.14: an extended request, which must succeed. */
export function* ldap(): Preamble {
  const request = tlv(0x77, tlv(0x80, startTlsOid));
  yield { kind: 'say', data: tlv(sequence, Buffer.concat([Buffer.from([2, 1, 1]), request])) };
  const value = yield* ldapMessage();
  // The message id, then the response: its first field is the result.
  const answer = 3;
  if (value[answer] !== extendedResponse) throw new Malformed('the LDAP server sent a different response');
  const result = value.indexOf(Buffer.from([enumerated, 1]), answer);
  const code = result < 0 ? undefined : value[result + 2];
  if (code === undefined) throw new Malformed('the LDAP response has no result');
  if (code !== 0) throw new Refusal(`the server responded to StartTLS with result code ${code}`);
}

/** Reads byte by byte up to the length, so that the short response of another protocol does not block. */
function* ldapMessage(): Generator<Want, Buffer, Buffer> {
  const [tag] = yield* bytes(1);
  if (tag !== sequence) throw new Malformed('the response is not an LDAP message');
  const [short = 0] = yield* bytes(1);
  if (short < 0x80) return yield* bytes(short);
  // 0x80 would be an indefinite length, which LDAP forbids (RFC 4511 section 5.1).
  const sizeOfSize = short & 0x7f;
  if (sizeOfSize === 0 || sizeOfSize > 4) throw new Malformed('the response is not an LDAP message');
  const sizeBytes = (yield* bytes(sizeOfSize)).readUIntBE(0, sizeOfSize);
  if (sizeBytes > maxLdapBytes) throw new Malformed('the response is not an LDAP message');
  return yield* bytes(sizeBytes);
}

function tlv(tag: number, value: Buffer): Buffer {
  return Buffer.concat([Buffer.from([tag, value.length]), value]);
}

/** SSLRequest of PostgreSQL: the response is one byte. */
export function* postgres(): Preamble {
  yield { kind: 'say', data: Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]) };
  const answer = (yield* bytes(1)).toString('latin1');
  if (answer === 'S') return;
  if (answer === 'N') throw new Refusal('the server does not speak TLS');
  if (answer === 'E') throw new Refusal('the server responded to SSLRequest with an error');
  throw new Malformed(`the server responded to SSLRequest with ${quoted(answer)}`);
}
