import { alertHandlingRoutes } from '@picket/protocol/alerts/alert-handling.ts';
import { attempt, type Problems } from '../forms/problems.ts';
import type { PageAnswer, PageCall } from '../page.ts';
import { showOpen } from './open.ts';

/** Handlers of the forms on open alerts; each shows the remaining open alerts afterwards. */

export function acknowledge(call: PageCall): Promise<PageAnswer> {
  const { id = '' } = call.params;
  const body = { comment: commentOf(call) };
  return done(
    call,
    attempt(() => call.api.call(alertHandlingRoutes.acknowledgeAlert, { params: { id }, body })),
  );
}

export function withdraw(call: PageCall): Promise<PageAnswer> {
  const { id = '' } = call.params;
  return done(
    call,
    attempt(() => call.api.call(alertHandlingRoutes.withdrawAcknowledgement, { params: { id } })),
  );
}

export function silence(call: PageCall): Promise<PageAnswer> {
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
  return done(
    call,
    attempt(() => api.call(alertHandlingRoutes.createSilence, { body })),
  );
}

export function endSilence(call: PageCall): Promise<PageAnswer> {
  const { id = '' } = call.params;
  return done(
    call,
    attempt(() => call.api.call(alertHandlingRoutes.endSilence, { params: { id } })),
  );
}

function commentOf({ form }: PageCall): string | null {
  return form.get('comment')?.trim() || null;
}

async function done(
  call: PageCall,
  attempted: Promise<{ readonly problems?: Problems }>,
): Promise<PageAnswer> {
  const { problems } = await attempted;
  return problems ? showOpen(call, problems) : { goTo: '/alerts' };
}
