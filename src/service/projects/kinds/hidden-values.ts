import { type Body, differs, type Particulars } from './kind.ts';

export const variables: Particulars = {
  stored: async (repositories, accountId, id) => {
    const row = await repositories.variables.find(accountId, String(id));
    return (
      row && {
        key: row.key,
        value: row.value,
        valueFrom: row.value_from,
        locked: row.locked === 1,
        secret: row.secret === 1,
      }
    );
  },
  keeping: (desired, stored) =>
    desired.value === '' && !desired.valueFrom && staysHidden(desired, stored)
      ? { ...desired, value: stored.value }
      : desired,
  isReplaced: (desired, stored) =>
    desired.key !== stored.key || (stored.secret === true && desired.secret !== true),
};

/** A hidden value is kept only if it stays at least as hidden as before. */
function staysHidden(desired: Body, stored: Body): boolean {
  if (stored.secret === true) return desired.secret === true;
  return stored.locked === true && (desired.locked === true || desired.secret === true);
}

export const clientCertificates: Particulars = {
  stored: async (repositories, accountId, id) => {
    const row = await repositories.certificates.find(accountId, String(id));
    if (!row) return undefined;
    const { host, cert, private_key: key, ca, passphrase } = row;
    return { host, cert, key, ca, passphrase };
  },
  keeping: ({ passphrase = '', ...desired }, stored) => ({
    ...desired,
    key: desired.key === '' ? stored.key : desired.key,
    passphrase: passphrase === '' ? (desired.key === '' ? stored.passphrase : null) : passphrase,
  }),
  keepsFirst: true,
  isReplaced: differs,
};
