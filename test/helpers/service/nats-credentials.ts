import { randomUUID } from 'node:crypto';
import { nkeys } from '@nats-io/transport-node';

type KeyPair = ReturnType<typeof nkeys.createUser>;

/** A server that authenticates users by their keys, and one such user. */
export interface KeyedUser {
  /** Lines of the server's configuration. */
  readonly configuration: string;
  /** Content of the user's `.creds` file. */
  readonly credentials: string;
}

/** Creates an operator, an account and a user; each one's key signs the next one's. */
export function createKeyedUser(): KeyedUser {
  const [operator, account, user] = [nkeys.createOperator(), nkeys.createAccount(), nkeys.createUser()];
  const unlimited = { subs: -1, data: -1, payload: -1 };
  const ofOperator = signed(operator, operator, { type: 'operator' });
  const ofAccount = signed(operator, account, {
    type: 'account',
    limits: { ...unlimited, imports: -1, exports: -1, wildcards: true, conn: -1, leaf: -1 },
  });
  const ofUser = signed(account, user, { type: 'user', ...unlimited });
  const part = (name: string, text: string) => `-----BEGIN ${name}-----\n${text}\n------END ${name}------\n`;
  return {
    configuration: `
      operator: ${ofOperator}
      resolver: MEMORY
      resolver_preload: { ${account.getPublicKey()}: ${ofAccount} }`,
    credentials: `${part('NATS USER JWT', ofUser)}\n${part('USER NKEY SEED', Buffer.from(user.getSeed()).toString())}`,
  };
}

function signed(issuer: KeyPair, subject: KeyPair, rights: object): string {
  const claims = {
    jti: randomUUID(),
    iat: Math.floor(Date.now() / 1000),
    iss: issuer.getPublicKey(),
    sub: subject.getPublicKey(),
    name: 'tests',
    nats: { ...rights, version: 2 },
  };
  const encoded = [{ typ: 'JWT', alg: 'ed25519-nkey' }, claims].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  );
  const text = encoded.join('.');
  return `${text}.${Buffer.from(issuer.sign(Buffer.from(text))).toString('base64url')}`;
}
