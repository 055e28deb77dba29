import { limitsForm } from '../contract/definition/common-form.ts';
import type { FormLayout } from '../contract/definition/form-layout.ts';

/** How forms show checks that run a script. */
export const scriptForm: FormLayout = {
  script: { label: 'Script', lines: 22, isCode: true },
  scriptPath: {
    label: 'Path of the script',
    hint: 'Where it lies among the files below; script.ts when empty.',
  },
  dependencies: { label: 'Files next to it' },
  'dependencies.*.path': { label: 'Path' },
  'dependencies.*.content': { label: 'Content', lines: 6, isCode: true },
  // As long as the file it is written in: projects and the API change it.
  playwrightConfig: { isHidden: true },
  snapshots: { isHidden: true },
  degradedResponseTime: limitsForm['degradedResponseTime'] ?? {},
  maxResponseTime: limitsForm['maxResponseTime'] ?? {},
};
