/**
 * Entry point of a process that gets the token of one login from the GSSAPI library of the system (MIT Kerberos). A
 * process of its own, because the library blocks its thread while it waits for KDCs and name servers.
 *
 *     node gssapi-main.ts < question.json > answer.json   (see kerberos.ts)
 */
import { json } from 'node:stream/consumers';
import koffi from 'koffi';
import type { TokenAnswer, TokenQuestion } from './kerberos.ts';

interface GssBuffer {
  readonly length: number;
  readonly value: unknown;
}
type Call = (minor: number[], ...parameters: unknown[]) => number;

/** Object identifiers in BER (RFC 2744, RFC 4121, RFC 4178). */
const spnego = Buffer.from('2b0601050502', 'hex');
const krb5 = Buffer.from('2a864886f712010202', 'hex');
const hostBasedService = Buffer.from('2a864886f71201020104', 'hex');
const kerberosPrincipal = Buffer.from('2a864886f71201020201', 'hex');

const initiate = 1;
/** Detects replayed tokens. It asks for no delegation: the server cannot act in the name of the agent. */
const contextFlags = 4;
/** Bits of a result that mean failure (RFC 2744 section 3.9.1). */
const failureBits = 0xffff0000;
const statusKinds = { general: 1, mechanism: 2 } as const;

class LibraryMissing extends Error {
  override readonly name = 'LibraryMissing';
}

process.stdout.write(JSON.stringify(answerTo((await json(process.stdin)) as TokenQuestion)));

function answerTo(question: TokenQuestion): TokenAnswer {
  try {
    return tokenFor(question);
  } catch (thrown) {
    const problem = thrown instanceof Error ? thrown.message : String(thrown);
    return { problem, isLibraryMissing: thrown instanceof LibraryMissing };
  }
}

/** @throws LibraryMissing */
function loadedLibrary() {
  try {
    return koffi.load('libgssapi_krb5.so.2');
  } catch {
    throw new LibraryMissing('the Kerberos library is not installed at this agent (libgssapi_krb5.so.2)');
  }
}

/** @throws Error with the words of the library. */
function tokenFor({ hostname, binding, keytab, ticketCache, principal }: TokenQuestion): TokenAnswer {
  const library = loadedLibrary();
  koffi.struct('gss_buffer', { length: 'size_t', value: 'uint8_t *' });
  koffi.struct('gss_oid', { length: 'uint32_t', elements: 'uint8_t *' });
  koffi.struct('gss_oid_set', { count: 'size_t', elements: 'gss_oid *' });
  koffi.struct('gss_store_entry', { key: 'const char *', value: 'const char *' });
  koffi.struct('gss_store', { count: 'uint32_t', elements: 'gss_store_entry *' });
  koffi.struct('gss_bindings', {
    initiatorType: 'uint32_t',
    initiator: 'gss_buffer',
    acceptorType: 'uint32_t',
    acceptor: 'gss_buffer',
    data: 'gss_buffer',
  });
  const declare = (signature: string): Call => library.func(`uint32_t ${signature}`) as Call;
  const importName = declare(
    'gss_import_name(_Out_ uint32_t *minor, gss_buffer *name, gss_oid *type, _Out_ void **to)',
  );
  const acquire = declare(
    'gss_acquire_cred_from(_Out_ uint32_t *minor, void *name, uint32_t seconds, gss_oid_set *mechanisms, int usage, gss_store *store, _Out_ void **credential, void *granted, void *lifetime)',
  );
  const inquire = declare(
    'gss_inquire_cred(_Out_ uint32_t *minor, void *credential, _Out_ void **name, _Out_ uint32_t *lifetime, void *usage, void *mechanisms)',
  );
  const show = declare(
    'gss_display_name(_Out_ uint32_t *minor, void *name, _Out_ gss_buffer *text, void *type)',
  );
  const restrict = declare(
    'gss_set_neg_mechs(_Out_ uint32_t *minor, void *credential, gss_oid_set *mechanisms)',
  );
  const begin = declare(
    'gss_init_sec_context(_Out_ uint32_t *minor, void *credential, _Inout_ void **context, void *target, gss_oid *mechanism, uint32_t flags, uint32_t seconds, gss_bindings *bindings, void *input, void *actual, _Out_ gss_buffer *token, void *actualFlags, void *lifetime)',
  );
  const display = declare(
    'gss_display_status(_Out_ uint32_t *minor, uint32_t status, int kind, gss_oid *mechanism, _Inout_ uint32_t *more, _Out_ gss_buffer *text)',
  );

  const bytesOf = ({ length, value }: GssBuffer): Buffer =>
    length === 0
      ? Buffer.alloc(0)
      : Buffer.from(koffi.decode(value, koffi.array('uint8_t', length, 'Typed')) as Uint8Array);
  const words = (status: number, kind: number): string => {
    const text: GssBuffer[] = [{ length: 0, value: null }];
    const isShown = display([0], status, kind, oid(krb5), [0], text) === 0;
    return isShown && text[0] ? bytesOf(text[0]).toString('utf8') : `status ${status}`;
  };
  const must = (call: Call, ...parameters: unknown[]): void => {
    const minor = [0];
    const major = call(minor, ...parameters);
    if ((major & failureBits) === 0) return;
    const detail = minor[0] ? words(minor[0], statusKinds.mechanism) : '';
    // The general words of a failure of the mechanism only say that it failed.
    throw new Error(detail === '' ? words(major, statusKinds.general) : detail);
  };
  const nameOf = (text: string, type: Buffer): unknown => {
    const name = [null];
    must(importName, buffer(Buffer.from(text)), oid(type), name);
    return name[0];
  };

  const entries = [
    ...(keytab === undefined ? [] : [{ key: 'client_keytab', value: `FILE:${keytab}` }]),
    { key: 'ccache', value: ticketCache ?? 'MEMORY:' },
  ];
  const store = { count: entries.length, elements: entries };
  const owner = principal === undefined ? null : nameOf(principal, kerberosPrincipal);
  const mechanisms = (one: Buffer) => ({ count: 1, elements: [oid(one)] });
  const credential = [null];
  // The credential of Kerberos itself comes first: its failures have better words.
  must(acquire, owner, 0, mechanisms(krb5), initiate, store, credential, null, null);
  if (hostname === undefined) {
    const [name, lifetimeS] = [[null], [0]];
    must(inquire, credential[0], name, lifetimeS, null, null);
    const text: GssBuffer[] = [{ length: 0, value: null }];
    must(show, name[0], text, null);
    const shown = text[0] ? bytesOf(text[0]).toString('utf8') : '';
    return { token: '', principal: shown, lifetimeS: lifetimeS[0] ?? 0 };
  }
  must(acquire, owner, 0, mechanisms(spnego), initiate, store, credential, null, null);
  must(restrict, credential[0], mechanisms(krb5));
  const target = nameOf(`HTTP@${hostname}`, hostBasedService);
  const none = buffer(Buffer.alloc(0));
  const data = binding === undefined ? undefined : buffer(Buffer.from(binding, 'base64'));
  const bindings = data && { initiatorType: 0, initiator: none, acceptorType: 0, acceptor: none, data };
  const token: GssBuffer[] = [{ length: 0, value: null }];
  must(
    begin,
    credential[0],
    [null],
    target,
    oid(spnego),
    contextFlags,
    0,
    bindings ?? null,
    null,
    null,
    token,
    null,
    null,
  );
  return { token: token[0] ? bytesOf(token[0]).toString('base64') : '' };
}

function oid(elements: Buffer) {
  return { length: elements.length, elements };
}

function buffer(value: Buffer): GssBuffer {
  return { length: value.length, value: value.length === 0 ? null : value };
}
