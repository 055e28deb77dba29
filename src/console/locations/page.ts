import { privateLocationRoutes } from '@picket/protocol/locations/private-location.ts';
import { attempt } from '../forms/problems.ts';
import { path } from '../html.ts';
import type { Page, PageAnswer, PageCall } from '../page.ts';
import { editAnswer, newAnswer, saveChanges, saveNew } from './editor.ts';
import { listLocations } from './list.ts';
import { showLocation } from './location.ts';

export const locationPages: readonly Page[] = [
  {
    path: '/locations',
    title: 'Locations',
    navigation: { word: 'Locations', icon: 'location' },
    role: 'READ_ONLY',
    handler: listLocations,
  },
  {
    path: '/locations/new',
    title: 'New location',
    role: 'READ_WRITE',
    handler: async (call) => newAnswer(call),
  },
  { method: 'POST', path: '/locations/new', title: 'New location', role: 'READ_WRITE', handler: saveNew },
  { path: '/locations/:id', title: 'Location', role: 'READ_ONLY', handler: (call) => showLocation(call) },
  { path: '/locations/:id/edit', title: 'Edit location', role: 'READ_WRITE', handler: editAnswer },
  {
    method: 'POST',
    path: '/locations/:id/edit',
    title: 'Edit location',
    role: 'READ_WRITE',
    handler: saveChanges,
  },
  {
    method: 'POST',
    path: '/locations/:id/delete',
    title: 'Delete location',
    role: 'READ_WRITE',
    handler: remove,
  },
  { method: 'POST', path: '/locations/:id/keys', title: 'New key', role: 'READ_WRITE', handler: addKey },
  {
    method: 'POST',
    path: '/locations/:id/keys/:keyId/revoke',
    title: 'Revoke key',
    role: 'READ_WRITE',
    handler: revokeKey,
  },
];

async function remove(call: PageCall): Promise<PageAnswer> {
  const { id = '' } = call.params;
  const { problems } = await attempt(() =>
    call.api.call(privateLocationRoutes.deletePrivateLocation, { params: { id } }),
  );
  return problems ? showLocation(call, { problems }) : { goTo: '/locations' };
}

/** The key is in this response only: a reload creates another one. */
async function addKey(call: PageCall): Promise<PageAnswer> {
  const { id = '' } = call.params;
  const { done, problems } = await attempt(() =>
    call.api.call(privateLocationRoutes.createPrivateLocationKey, { params: { id } }),
  );
  return showLocation(call, problems ? { problems } : { newKey: done.rawKey });
}

async function revokeKey(call: PageCall): Promise<PageAnswer> {
  const { id = '', keyId = '' } = call.params;
  const force = call.form.get('force') === 'true' ? { query: { force: 'true' } } : {};
  const { problems } = await attempt(() =>
    call.api.call(privateLocationRoutes.deletePrivateLocationKey, { params: { id, keyId }, ...force }),
  );
  return problems ? showLocation(call, { problems }) : { goTo: path`/locations/${id}` };
}
