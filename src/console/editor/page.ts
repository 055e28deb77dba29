import type { Page } from '../page.ts';
import { editCheck, removeCheck, saveCheck, switchCheck } from './edit-check.ts';
import { editGroup, listGroups, newGroup, removeGroup, saveGroup, saveNewGroup } from './group-editor.ts';
import { newCheck, saveNewCheck } from './new-check.ts';
import { uploadBundle } from './parts/bundles.ts';
import { previewPath, previewSchedule } from './schedule-preview.ts';
import { showTry } from './tryout.ts';

export const editorPages: readonly Page[] = [
  { path: '/checks/new', title: 'New check', role: 'READ_WRITE', handler: newCheck },
  { method: 'POST', path: '/checks/new', title: 'New check', role: 'READ_WRITE', handler: saveNewCheck },
  { path: '/checks/:checkId/edit', title: 'Edit check', role: 'READ_WRITE', handler: editCheck },
  {
    method: 'POST',
    path: '/checks/:checkId/edit',
    title: 'Edit check',
    role: 'READ_WRITE',
    handler: saveCheck,
  },
  {
    method: 'POST',
    path: '/checks/bundles',
    title: 'Upload a suite',
    role: 'READ_WRITE',
    handler: uploadBundle,
    isUpload: true,
  },
  {
    method: 'POST',
    path: '/checks/:checkId/activated',
    title: 'Pause or resume a check',
    role: 'READ_WRITE',
    handler: switchCheck,
  },
  {
    method: 'POST',
    path: '/checks/:checkId/delete',
    title: 'Delete check',
    role: 'READ_WRITE',
    handler: removeCheck,
  },
  { path: '/groups', title: 'Groups', role: 'READ_ONLY', handler: (call) => listGroups(call) },
  { path: '/groups/new', title: 'New group', role: 'READ_WRITE', handler: newGroup },
  { method: 'POST', path: '/groups/new', title: 'New group', role: 'READ_WRITE', handler: saveNewGroup },
  { path: '/groups/:id/edit', title: 'Edit group', role: 'READ_WRITE', handler: editGroup },
  { method: 'POST', path: '/groups/:id/edit', title: 'Edit group', role: 'READ_WRITE', handler: saveGroup },
  {
    method: 'POST',
    path: '/groups/:id/delete',
    title: 'Delete group',
    role: 'READ_WRITE',
    handler: removeGroup,
  },
  {
    method: 'POST',
    path: previewPath,
    title: 'Preview a schedule',
    role: 'READ_WRITE',
    handler: previewSchedule,
  },
  { path: '/tries/:id', title: 'Try', role: 'READ_ONLY', handler: showTry },
];
