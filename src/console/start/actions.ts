import { channelFor } from '@picket/channels/index.ts';
import { checkTypes } from '@picket/checks/index.ts';
import { fieldError } from '@picket/platform/http/validation.ts';
import { alertChannelRoutes } from '@picket/protocol/alerts/alert-channel.ts';
import { checkRoutes } from '@picket/protocol/checks/check.ts';
import { privateLocationRoutes } from '@picket/protocol/locations/private-location.ts';
import { statusPageRoutes } from '@picket/protocol/pages/status-page.ts';
import { checkSessionRoutes } from '@picket/protocol/sessions/check-session.ts';
import type { z } from 'zod';
import { testWords } from '../alerts/channels/list.ts';
import { attempt } from '../forms/problems.ts';
import { withQuery } from '../html.ts';
import type { PageAnswer, PageCall } from '../page.ts';
import { choose, isChoice } from './choices.ts';
import { startPath } from './examples.ts';
import { progressOf } from './progress.ts';
import { showStart, slugOf } from './steps.ts';

const { createPrivateLocation, createPrivateLocationKey, deletePrivateLocationKey, getPrivateLocation } =
  privateLocationRoutes;

/** The type of check that a web address alone defines. */
function urlType(): string {
  const type = checkTypes.find(({ isOfAddress }) => isOfAddress);
  if (!type) throw new Error('no type of check takes a web address');
  return type.name;
}

/** Creates a location and its key, and shows the commands that start an agent. */
export async function addLocation(call: PageCall): Promise<PageAnswer> {
  const { api, form } = call;
  const name = form.get('name')?.trim() ?? '';
  const { locations } = await progressOf(call);
  const taken = new Set(locations.map(({ slugName }) => slugName.toLowerCase()));
  const { done, problems } = await attempt(() =>
    api.call(createPrivateLocation, { body: { name, slugName: freeSlug(slugOf(name, 26), taken) } }),
  );
  if (problems) return showStart(call, { step: 'location', problems });
  form.set('location', done.id);
  return showStart(call, { step: 'location', newKey: done.keys[0]?.rawKey ?? '' });
}

function freeSlug(slug: string, taken: ReadonlySet<string>): string {
  const base = slug === '' ? 'location' : slug;
  for (let number = 1; ; number += 1) {
    const candidate = number === 1 ? base : `${base}-${number}`;
    if (!taken.has(candidate)) return candidate;
  }
}

/** Creates another key of a location whose first one was not copied in time; an unused key makes room for it. */
export async function renewKey(call: PageCall): Promise<PageAnswer> {
  const { api, form } = call;
  const params = { id: form.get('location') ?? '' };
  const { done, problems } = await attempt(async () => {
    const { keys } = await api.call(getPrivateLocation, { params });
    const unused = keys.find(({ lastUsedAt }) => lastUsedAt === null);
    if (keys.length > 1 && unused) {
      await api.call(deletePrivateLocationKey, { params: { ...params, keyId: unused.id }, query: {} });
    }
    return api.call(createPrivateLocationKey, { params });
  });
  return showStart(call, { step: 'location', ...(problems ? { problems } : { newKey: done.rawKey }) });
}

/** Creates a URL monitor and runs it at once. */
export async function addCheck(call: PageCall): Promise<PageAnswer> {
  const { api, form } = call;
  const typed = form.get('url')?.trim() ?? '';
  const url = /^[a-z][\w+.-]*:\/\//i.test(typed) || typed === '' ? typed : `https://${typed}`;
  const { done, problems } = await attempt(() => {
    // The API takes templates, too; here it would only be a mistake.
    if (!URL.parse(url)?.hostname) {
      throw fieldError('payload', [{ key: 'url', message: 'must be a web address, such as example.com' }]);
    }
    return api.call(checkRoutes.createCheck, {
      query: { autoAssignAlerts: 'true' },
      body: {
        checkType: urlType(),
        name: form.get('name')?.trim() || nameOf(url) || 'First check',
        privateLocations: [form.get('at') ?? ''],
        frequency: 1,
        request: { url },
      },
    });
  });
  if (problems) return showStart(call, { step: 'check', problems });
  const { id } = done as { id: string };
  const ran = await attempt(() =>
    api.call(checkSessionRoutes.triggerCheckSessions, { body: { target: { checkId: [id] } } }),
  );
  return {
    goTo: withQuery(startPath, { check: id }),
    toast: ran.problems ? 'Saved. It runs as soon as an agent is connected.' : 'Saved. Running now.',
  };
}

function nameOf(url: string): string {
  const { host, pathname } = URL.parse(url) ?? { host: '', pathname: '/' };
  return `${host}${pathname === '/' ? '' : pathname}`.slice(0, 255);
}

/** Creates a channel for a mail address or a URL, subscribes it to the check, and sends a test. */
export async function addChannel(call: PageCall): Promise<PageAnswer> {
  const { api, form } = call;
  const to = form.get('to')?.trim() ?? '';
  const checkId = form.get('check') ?? '';
  const subscriptions = checkId === '' ? [] : [{ checkId, activated: true }];
  const { done, problems } = await attempt(async () => {
    const channel = channelFor(to);
    if (!channel) {
      throw fieldError('payload', [{ key: 'to', message: 'must be a mail address, or a URL with https://' }]);
    }
    const body = { ...channel, subscriptions } as z.input<typeof alertChannelRoutes.createAlertChannel.body>;
    return api.call(alertChannelRoutes.createAlertChannel, { body });
  });
  if (problems) return showStart(call, { step: 'channel', problems });
  return sendTest(call, done.id, checkId);
}

export async function testAgain(call: PageCall): Promise<PageAnswer> {
  return sendTest(call, Number(call.form.get('channel')), call.form.get('check') ?? '');
}

async function sendTest(call: PageCall, id: number, check: string): Promise<PageAnswer> {
  const { done, problems } = await attempt(() =>
    call.api.call(alertChannelRoutes.testAlertChannel, { params: { id: String(id) } }),
  );
  return {
    goTo: withQuery(startPath, { check, channel: id }),
    toast: problems ? problems.message : testWords(done),
  };
}

/** Publishes a status page whose service follows the check: its failure opens an incident. */
export async function addPage(call: PageCall): Promise<PageAnswer> {
  const { api, form } = call;
  const { check } = await progressOf(call);
  if (!check) return showStart(call, { step: 'page' });
  const name = form.get('name')?.trim() ?? '';
  const { problems } = await attempt(async () => {
    const service = await api.call(statusPageRoutes.createService, { body: { name: check.name } });
    try {
      await api.call(statusPageRoutes.createStatusPage, {
        body: {
          name,
          url: form.get('url')?.trim() ?? '',
          cards: [{ name: 'Services', services: [{ id: service.id }] }],
        },
      });
    } catch (thrown) {
      await api.call(statusPageRoutes.deleteService, { params: { serviceId: service.id } });
      throw thrown;
    }
    const triggerIncident = {
      serviceId: service.id,
      severity: 'MAJOR',
      notifySubscribers: true,
      name: `${check.name} does not work`.slice(0, 255),
      description: 'We are looking into it.',
    };
    await api.call(checkRoutes.updateCheck, {
      params: { id: check.id },
      query: {},
      body: { triggerIncident },
    });
  });
  if (problems) return showStart(call, { step: 'page', problems });
  return { goTo: withQuery(startPath, { check: check.id }), toast: 'Your status page is public.' };
}

/** Skips a step, or dismisses all of them; `undo` takes it back. */
export async function decide(call: PageCall): Promise<PageAnswer> {
  const choice = call.form.get('choice');
  if (!isChoice(choice)) return { goTo: startPath };
  choose(call, choice, !call.form.has('undo'));
  return { goTo: choice === 'dismissed' || choice === 'no-examples' ? '/' : startPath };
}
