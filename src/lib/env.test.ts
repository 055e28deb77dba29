import { expect, it } from 'vitest';
import { z } from 'zod';
import { readEnvironment } from './env.ts';
import { AppError } from './errors.ts';

const Settings = z.object({
  KEY: z.string(),
  PORT: z.coerce.number().int().min(1).max(65_535).default(1),
  SIZE: z.coerce.number().int().default(1),
  LEVEL: z.enum(['info', 'warn']).default('info'),
  NAME: z.string().min(3).default('abc'),
  URL: z.url({ error: 'must be an http or https URL' }).optional(),
});

it('describes the error in each variable, and never its value', () => {
  let message = '';
  try {
    readEnvironment(Settings, { PORT: '0', SIZE: 'much', LEVEL: 'loud', NAME: 'x', URL: 'secret' });
  } catch (thrown) {
    if (!(thrown instanceof AppError)) throw thrown;
    message = thrown.message;
  }
  expect(message.split('\n')).toEqual([
    '6 problems in the configuration:',
    '  - KEY: is required',
    '  - PORT: must be at least 1',
    '  - SIZE: must be a number',
    '  - LEVEL: must be one of info, warn',
    '  - NAME: must have at least 3 characters',
    '  - URL: must be an http or https URL',
  ]);
  expect(() => readEnvironment(Settings, { KEY: 'x', SIZE: '1.5' })).toThrow('SIZE: must be a whole number');
});
