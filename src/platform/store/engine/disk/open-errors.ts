import { AppError, errorCodeOf } from '@picket/lib/errors.ts';
import { asStoreError, isDamaged } from '../dialect.ts';
import { isAboutStartupParameter } from '../foreign-texts.ts';

/** Returns the place of a database for error messages, without user and password. */
export function placeOf(databaseUrl: string | undefined, path: string): string {
  if (databaseUrl === undefined) return path;
  return databaseUrl.replace(/^postgres(?:ql)?:\/\/(?:[^@/?]*@)?/, '').replace(/\?.*$/, '');
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused: nothing listens there',
  ECONNRESET: 'the connection was reset',
  ENOTFOUND: 'its host name is unknown',
  EAI_AGAIN: 'its host name cannot be looked up: the name server does not answer',
  ETIMEDOUT: 'it does not answer',
  EHOSTUNREACH: 'its host cannot be reached',
  ENETUNREACH: 'its network cannot be reached',
  '57P03': 'it is starting up or shutting down',
};

/** Error for a pooler without sessions between the service and its database, with the setting to change. */
export function poolerError(place: string, cause?: Error): AppError {
  return new AppError(
    'CONFIG_INVALID',
    `DATABASE_URL: ${place} is a pooler in transaction mode. Set DATABASE_DIRECT_URL to the database itself: ` +
      'one connection of each process goes there.',
    { cause },
  );
}

/** SQLSTATEs that waiting does not fix: authentication, missing database, missing privileges. */
const configurationStates = /^(28|3D|42501)/;

/**
 * Describes why a database cannot be opened: CONFIG_INVALID if the settings need a change, STORE_UNAVAILABLE if it may
 * become available later. Other errors stay unchanged.
 */
export function asOpenError(error: Error, place: string): Error {
  if (error instanceof AppError) return error;
  const code = errorCodeOf(error) ?? '';
  if (isAboutStartupParameter(error.message)) return poolerError(place, error);
  if (configurationStates.test(code)) {
    const message = `DATABASE_URL: the database ${place} cannot be used: ${error.message}.`;
    return new AppError('CONFIG_INVALID', message, { cause: error });
  }
  if (isDamaged(error)) {
    const message = `The database ${place} is damaged or no database (${error.message}). Restore a backup: "picket service restore".`;
    return new AppError('CONFIG_INVALID', message, { cause: error });
  }
  const known = asStoreError(error);
  if (known instanceof AppError && known.code === 'STORAGE_FULL') return known;
  if (!(known instanceof AppError)) return error;
  const reason = reasons[code] ?? (error.message === '' ? code : error.message);
  return new AppError('STORE_UNAVAILABLE', `The database ${place} cannot be used: ${reason}.`, {
    cause: error,
  });
}
