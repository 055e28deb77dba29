import { AppError } from '@picket/lib/errors.ts';
import { type AlertEntry, alertEntryRoutes } from '@picket/protocol/alerts/alert-entry.ts';
import { alertHandlingRoutes } from '@picket/protocol/alerts/alert-handling.ts';
import { checkRoutes } from '@picket/protocol/checks/check.ts';
import { counted } from '../elements/format.ts';
import { attempt } from '../forms/problems.ts';
import type { PageAnswer, PageCall } from '../page.ts';
import { showAlerts } from './list.ts';
import { lengthWord } from './silence-form.ts';

/** Handlers of the forms on alerts; each leads back to the list, or to the page of the alert. */

export function acknowledge(call: PageCall): Promise<PageAnswer> {
  const body = { comment: commentOf(call) };
  return ofChecks(call, 'acknowledged', (id) =>
    call.api.call(alertHandlingRoutes.acknowledgeAlert, { params: { id }, body }),
  );
}

export function withdraw(call: PageCall): Promise<PageAnswer> {
  return ofChecks(call, 'no longer acknowledged', (id) =>
    call.api.call(alertHandlingRoutes.withdrawAcknowledgement, { params: { id } }),
  );
}

export function mute(call: PageCall): Promise<PageAnswer> {
  return ofChecks(call, 'muted', (id) =>
    call.api.call(checkRoutes.updateCheck, { params: { id }, body: { muted: true } }),
  );
}

/** Silences the checks of an alert; its location if it is about one. */
export async function silenceEntry(call: PageCall): Promise<PageAnswer> {
  const { api, form } = call;
  const minutes = Number(form.get('minutes'));
  const common = { minutes, comment: commentOf(call) };
  const entry = await entryOf(call);
  const location = entry?.locations[0];
  if (entry && location !== undefined && (entry.kind === 'GAP' || entry.kind === 'LOCATION')) {
    const { problems } = await attempt(() =>
      api.call(alertHandlingRoutes.createSilence, { body: { ...common, location } }),
    );
    const toast = `Location ${location} is silenced for ${lengthWord(minutes)}.`;
    return problems ? showAlerts(call, problems) : { goTo: backOf(call), toast };
  }
  return ofChecks(call, `silenced for ${lengthWord(minutes)}`, (checkId) =>
    api.call(alertHandlingRoutes.createSilence, { body: { ...common, checkId } }),
  );
}

/** Handles the form for a tag or a location. */
export async function silence(call: PageCall): Promise<PageAnswer> {
  const { form, api } = call;
  const checkId = form.get('checkId');
  const scope = form.get('scope') ?? '';
  const [kind, name] = [scope.slice(0, scope.indexOf(':')), scope.slice(scope.indexOf(':') + 1)];
  const body = {
    ...(checkId === null ? {} : { checkId }),
    ...(kind === 'tag' ? { tags: [name] } : {}),
    ...(kind === 'location' ? { location: name } : {}),
    minutes: Number(form.get('minutes')),
    comment: commentOf(call),
  };
  const { problems } = await attempt(() => api.call(alertHandlingRoutes.createSilence, { body }));
  if (problems) return showAlerts(call, problems);
  return { goTo: backOf(call), toast: `Silenced for ${lengthWord(body.minutes)}.` };
}

export async function endSilence(call: PageCall): Promise<PageAnswer> {
  const { id = '' } = call.params;
  const { problems } = await attempt(() => call.api.call(alertHandlingRoutes.endSilence, { params: { id } }));
  return problems ? showAlerts(call, problems) : { goTo: backOf(call), toast: 'The silence has ended.' };
}

/** Calls an operation for each failing check of the alert; one that is refused does not stop the others. */
async function ofChecks(
  call: PageCall,
  done: string,
  change: (checkId: string) => Promise<unknown>,
): Promise<PageAnswer> {
  const entry = await entryOf(call);
  if (!entry) return { goTo: '/alerts', toast: 'The alert has ended meanwhile.' };
  const failing = entry.members.filter(({ recoveredAt }) => recoveredAt === null);
  const refused: string[] = [];
  for (const { checkId, name } of failing) {
    const { problems } = await attempt(() => change(checkId));
    // A form with a wrong value is refused for every check.
    if (problems?.statusCode === 422) return showAlerts(call, problems);
    if (problems) refused.push(name);
  }
  const count = failing.length - refused.length;
  const [first] = failing;
  const what = failing.length === 1 ? (first?.name ?? '') : counted(count, 'check');
  const others = refused.length === 0 ? '' : ` Refused: ${refused.slice(0, 3).join(', ')}.`;
  const toast = count === 0 ? `Nothing has changed.${others}` : `${what}: ${done}.${others}`;
  return { goTo: backOf(call), toast };
}

async function entryOf({ api, params }: PageCall): Promise<AlertEntry | undefined> {
  try {
    return await api.call(alertEntryRoutes.getAlertEntry, { params: { id: params['id'] ?? '' } });
  } catch (thrown) {
    if (thrown instanceof AppError && thrown.code === 'NOT_FOUND') return undefined;
    throw thrown;
  }
}

function commentOf({ form }: PageCall): string | null {
  return form.get('comment')?.trim() || null;
}

/** The page that the form was on; only pages of alerts. */
function backOf({ form }: PageCall): string {
  const back = form.get('back') ?? '';
  return /^\/alerts(?:[/?][\x21-\x7e]*)?$/.test(back) ? back : '/alerts';
}
