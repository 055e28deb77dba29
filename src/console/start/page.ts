import { type Page, posts } from '../page.ts';
import { addChannel, addCheck, addLocation, addPage, decide, renewKey, testAgain } from './actions.ts';
import { deleteExamples, startPath } from './examples.ts';
import { showStart } from './steps.ts';

/** The first steps of an account: an agent, a check, an alert, a status page. */
export const startPages: readonly Page[] = [
  {
    path: startPath,
    title: 'Get started',
    navigation: { word: 'Get started', icon: 'rocket' },
    role: 'READ_WRITE',
    handler: (call) => showStart(call),
  },
  ...posts(startPath, {
    '/location': ['Create a location', addLocation],
    '/key': ['New key for an agent', renewKey],
    '/check': ['Create the first check', addCheck],
    '/channel': ['Create the first channel', addChannel],
    '/channel/test': ['Send a test', testAgain],
    '/page': ['Publish the first status page', addPage],
    '/choose': ['Skip or dismiss first steps', decide],
    '/examples/delete': ['Delete the examples', deleteExamples],
  }),
];
