import { type Body, differs, type Particulars } from './kind.ts';

export const variables: Particulars = {
  stored: async (repositories, accountId, id) => {
    const row = await repositories.variables.find(accountId, String(id));
    return row && { key: row.key, value: row.value, locked: row.locked === 1, secret: row.secret === 1 };
  },
  keeping: (wished, stored) =>
    wished.value === '' && staysHidden(wished, stored) ? { ...wished, value: stored.value } : wished,
  isReplaced: (wished, stored) =>
    wished.key !== stored.key || (stored.secret === true && wished.secret !== true),
};

/** A value that was hidden is kept only where it is hidden as well as before. */
function staysHidden(wished: Body, stored: Body): boolean {
  if (stored.secret === true) return wished.secret === true;
  return stored.locked === true && (wished.locked === true || wished.secret === true);
}

export const clientCertificates: Particulars = {
  stored: async (repositories, accountId, id) => {
    const row = await repositories.certificates.find(accountId, String(id));
    if (!row) return undefined;
    const { host, cert, private_key: key, ca, passphrase } = row;
    return { host, cert, key, ca, passphrase };
  },
  keeping: ({ passphrase = '', ...wished }, stored) => ({
    ...wished,
    key: wished.key === '' ? stored.key : wished.key,
    passphrase: passphrase === '' ? (wished.key === '' ? stored.passphrase : null) : passphrase,
  }),
  keepsFirst: true,
  isReplaced: differs,
};
