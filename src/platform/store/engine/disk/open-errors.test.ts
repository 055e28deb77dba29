import { describe, expect, it } from 'vitest';
import { asOpenError, placeOf } from './open-errors.ts';

const failed = (fields: object, message = 'no') => Object.assign(new Error(message), fields);

describe('a database that cannot be opened', () => {
  it.each([
    [
      'a wrong password',
      failed({ code: '28P01' }, 'password authentication failed'),
      'CONFIG_INVALID',
      /authentication failed/,
    ],
    [
      'a wrong name',
      failed({ code: '3D000' }, 'database "x" does not exist'),
      'CONFIG_INVALID',
      /"x" does not exist/,
    ],
    [
      'a role without rights',
      failed({ code: '42501' }, 'permission denied'),
      'CONFIG_INVALID',
      /permission denied/,
    ],
    [
      'a damaged file',
      failed({ errcode: 26 }, 'file is not a database'),
      'CONFIG_INVALID',
      /Restore a backup/,
    ],
    [
      'a server that is not there',
      failed({ code: 'ECONNREFUSED' }),
      'STORE_UNAVAILABLE',
      /nothing listens there/,
    ],
    ['an unknown host', failed({ code: 'ENOTFOUND' }), 'STORE_UNAVAILABLE', /host name is unknown/],
  ])('is named with its path and the cause: %s', (_what, error, code, says) => {
    const place = placeOf('postgres://me:secret@db.test:5432/picket?sslmode=require', '');
    const shown = asOpenError(error, place);
    expect(shown).toMatchObject({ code });
    expect(shown.message).toMatch(says);
    expect(shown.message).toContain('db.test:5432/picket');
    expect(shown.message).not.toMatch(/secret|sslmode/);
  });

  it('leaves internal errors unchanged', () => {
    const error = new TypeError('x is not a function');
    expect(asOpenError(error, 'here')).toBe(error);
  });
});
