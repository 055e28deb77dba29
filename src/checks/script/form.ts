import { limitsForm } from '../contract/definition/common-form.ts';
import type { FormLayout } from '../contract/definition/form-layout.ts';

/** How forms show checks that run a script. */
export const scriptForm: FormLayout = {
  script: { label: 'Script', lines: 18, isCode: true, isFirst: true, names: 'test' },
  scriptPath: {
    label: 'Script path',
    hint: 'Path of the script among the files below. Default: script.ts.',
  },
  dependencies: { label: 'Dependencies' },
  'dependencies.*.path': { label: 'Path' },
  'dependencies.*.content': { label: 'Content', lines: 6, isCode: true },
  // As long as its file: projects and the API change it.
  playwrightConfig: { isHidden: true },
  snapshots: { isHidden: true },
  degradedResponseTime: limitsForm['degradedResponseTime'] ?? {},
  maxResponseTime: limitsForm['maxResponseTime'] ?? {},
};
