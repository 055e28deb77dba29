import { AppError } from '@picket/lib/errors.ts';
import { checkSessionRoutes } from '@picket/protocol/sessions/check-session.ts';
import { shortened } from '../elements/format.ts';
import { visible } from '../elements/text.ts';
import { path, withQuery } from '../html.ts';
import type { PageCall, Redirect } from '../page.ts';
import { type Entry, typeOf } from './stored.ts';

const { triggerCheckSessions } = checkSessionRoutes;

/** Runs a check that was saved, and leads to its page. A check that cannot run now is still saved. */
export async function saved({ api }: PageCall, check: Entry): Promise<Redirect> {
  const checkId = String(check['id']);
  const goTo = path`/checks/${checkId}`;
  if (typeOf(check).pings || check['activated'] !== true || !api.allows(triggerCheckSessions)) {
    return { goTo, toast: 'Saved.' };
  }
  try {
    const { sessions } = await api.call(triggerCheckSessions, { body: { target: { checkId } } });
    const [session] = sessions;
    const places = session?.runLocations ?? [];
    return {
      goTo: withQuery(goTo, { session: session?.checkSessionId }),
      toast: `Saved. Running now${places.length === 0 ? '' : ` at ${visible(shortened(places.join(', '), 120))}`}.`,
    };
  } catch (thrown) {
    if (thrown instanceof AppError && thrown.statusCode < 500)
      return { goTo, toast: `Saved. ${thrown.message}` };
    throw thrown;
  }
}
