import { alertHandlingRoutes, type Silence } from '@picket/protocol/alerts/alert-handling.ts';
import { ApiError } from './api-error.ts';
import type { ApiClient } from './client.ts';
import type { Run } from './command.ts';
import { findCheck } from './find-check.ts';
import { durationMs, shortId, table, uuid } from './text.ts';

/** `picket silence list` */
export const listSilences: Run = async (api) => {
  const silences = await api.all(alertHandlingRoutes.listSilences, { active: 'true' });
  const lines = (width: number) =>
    silences.length === 0
      ? ['There are no silences.']
      : table(
          ['ID', 'UNTIL', 'WHAT', 'BY', 'WHY'],
          silences.map((one) => [
            one.id,
            one.endsAt.replace(/:\d\d\.\d+Z$/, 'Z'),
            scopeOf(one),
            one.createdBy.name,
            one.comment ?? '',
          ]),
          width,
        );
  return { json: silences, lines };
};

/** `picket silence add` */
export const addSilence: Run = async (api, _given, options) => {
  const lengthMs = typeof options.for === 'string' ? durationMs(options.for) : undefined;
  if (lengthMs === undefined) throw new ApiError('--for needs a duration: 30m, 2h, 1d.', true);
  const scopes = [options.check, options.tag, options.location].filter((one) => one !== undefined);
  if (scopes.length !== 1) throw new ApiError('Name one of --check, --tag and --location.', true);
  const check = typeof options.check === 'string' ? await findCheck(api, options.check) : undefined;
  const silence = await api.call(alertHandlingRoutes.createSilence, {
    body: {
      ...(check ? { checkId: check.id } : {}),
      ...(options.tag === undefined ? {} : { tags: options.tag }),
      ...(options.location === undefined ? {} : { location: options.location }),
      ...(options.comment === undefined ? {} : { comment: options.comment }),
      minutes: Math.round(lengthMs / 60_000),
    },
  });
  return {
    json: silence,
    lines: () => [
      `Silent until ${silence.endsAt}: ${check?.name ?? scopeOf(silence)}`,
      `End it with: picket silence end ${silence.id}`,
    ],
  };
};

/** `picket silence end ID` */
export const endSilence: Run = async (api, [named = '']) => {
  const id = await idOf(api, named);
  await api.call(alertHandlingRoutes.endSilence, { params: { id } });
  return {
    json: { endedSilenceId: id },
    lines: () => ['The silence has ended: checks that still fail send notifications now.'],
  };
};

/** The id of an active silence whose beginning a table shows. */
async function idOf(api: ApiClient, named: string): Promise<string> {
  if (!shortId.test(named) || uuid.test(named)) return named;
  const silences = await api.all(alertHandlingRoutes.listSilences, { active: 'true' });
  const [only, second] = silences.filter(({ id }) => id.startsWith(named.toLowerCase()));
  return only && !second ? only.id : named;
}

function scopeOf({ checkId, tags, location }: Silence): string {
  if (checkId !== null) return `check ${checkId}`;
  return tags === null ? `location ${location}` : `tags ${tags.join(', ')}`;
}
