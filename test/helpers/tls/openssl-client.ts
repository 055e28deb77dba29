import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';

/** The result of `openssl s_client` for a server. */
export interface SeenByOpenssl {
  /** Whether the handshake succeeded. */
  readonly isMade: boolean;
  /** OpenSSL's verdict on the chain and the name: 0 is valid, 62 is a name mismatch. */
  readonly verifyCode: number | null;
  readonly protocol: string | null;
  readonly cipher: string | null;
  readonly alpnProtocol: string | null;
  /** SHA-256 of the certificates, in the order they were sent. */
  readonly chain: readonly string[];
  readonly isStapled: boolean;
  readonly output: string;
}

/** Connects to a server with the settings of an SSL monitor. */
export async function askOpenssl(target: {
  readonly port: number;
  readonly name: string;
  readonly authorityFile: string;
  readonly startTls?: string | undefined;
  readonly alpnProtocols?: readonly string[] | undefined;
}): Promise<SeenByOpenssl> {
  const isAddress = /^[\d.]+$/.test(target.name);
  const words = [
    ...['s_client', '-connect', `127.0.0.1:${target.port}`, '-showcerts', '-status', '-partial_chain'],
    ...['-CAfile', target.authorityFile, '-no-CApath', '-no-CAstore'],
    ...['-min_protocol', 'TLSv1', '-cipher', 'DEFAULT:@SECLEVEL=0'],
    ...(isAddress
      ? ['-noservername', '-verify_ip', target.name]
      : ['-servername', target.name, '-verify_hostname', target.name]),
    ...(target.startTls ? ['-starttls', target.startTls, '-name', target.name] : []),
    ...(target.alpnProtocols?.length ? ['-alpn', target.alpnProtocols.join(',')] : []),
  ];
  const output = await run(words);
  const [, protocol, cipher] = /^New, (\S+), Cipher is (\S+)$/m.exec(output) ?? [];
  const [, sent = ''] = /^Certificate chain$([\s\S]*)^Server certificate$/m.exec(output) ?? [];
  const code = /Verify return code: (\d+)/.exec(output)?.[1];
  // `New` names the version that introduced the cipher.
  const shown = /^ *Protocol *: (\S+)$/m.exec(output)?.[1]?.replace(/^TLSv1$/, 'TLSv1.0');
  // It shows the negotiated values even if the server refused the handshake in the end.
  const isRefused = protocol !== 'TLSv1.3' && /:SSL routines:/.test(output);
  const isMade = cipher !== undefined && cipher !== '(NONE)' && !isRefused;
  return {
    isMade,
    verifyCode: isMade && code !== undefined ? Number(code) : null,
    protocol: isMade ? (shown ?? protocol ?? null) : null,
    cipher: isMade ? (cipher ?? null) : null,
    alpnProtocol: /^ALPN protocol: (\S+)$/m.exec(output)?.[1] ?? null,
    chain: [...sent.matchAll(/-----BEGIN CERTIFICATE-----([^-]+)-----END/g)].map(([, text = '']) =>
      createHash('sha256').update(Buffer.from(text, 'base64')).digest('hex'),
    ),
    isStapled: /OCSP Response Status: successful/.test(output),
    output,
  };
}

/** Runs openssl. A run that waits for a silent server is killed and counts as no handshake. */
function run(words: readonly string[]): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const child = execFile(
    'openssl',
    words,
    { timeout: 30_000, maxBuffer: 4 << 20 },
    (_error, stdout, stderr) => resolve(`${stdout}\n${stderr}`),
  );
  child.stdin?.end();
  return promise;
}
