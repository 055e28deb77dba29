import { expect, it } from 'vitest';
import { asStoreError } from '../dialect.ts';

const failed = (fields: object) => Object.assign(new Error('no'), fields);

// Quotas are not available on every machine; test/system/service/full-disk.night.test.ts provokes the others.
it.each([
  ['a full disk', { code: 'ENOSPC' }, 'A disk of the service is full'],
  ['a quota that is used up', { code: 'EDQUOT' }, 'A disk of the service is full'],
  ['a full disk of PostgreSQL', { code: '53100', severity: 'ERROR' }, 'PostgreSQL server is full'],
  ['a full disk of SQLite', { errcode: 13 }, '(DATA_DIR) is full'],
  ['a full disk of SQLite, for its shared index', { errcode: 4874 }, '(DATA_DIR) is full'],
])('%s is STORAGE_FULL', (_what, fields, says) => {
  expect(asStoreError(failed(fields))).toMatchObject({
    code: 'STORAGE_FULL',
    message: expect.stringContaining(says),
  });
});
