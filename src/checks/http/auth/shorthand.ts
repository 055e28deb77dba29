import { isRecord } from '@picket/lib/json/record.ts';

type Fields = Readonly<Record<string, unknown>>;

/** `auth` of a check file: without a type it is BASIC, and types may be in lower case. */
export function withAuth({ auth }: Fields): Fields {
  if (!isRecord(auth)) return {};
  const { type = 'BASIC' } = auth;
  return { auth: { ...auth, type: typeof type === 'string' ? type.toUpperCase() : type } };
}
