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
  browsers: {
    label: 'Browsers',
    hint: 'The first is for tests that choose none. None: Chromium, and the others that the code names.',
  },
  throttling: {
    label: 'Network of the browser',
    hint: 'Times are then those of the slower network.',
    words: { '': 'as it is' },
    pickedBy: 'profile',
    topic: 'limits',
  },
  'throttling.profile': {
    words: {
      '3G_SLOW': 'slow 3G (400 kbit/s, 400 ms)',
      '3G': '3G (1.6 Mbit/s, 300 ms)',
      '4G': '4G (9 Mbit/s, 170 ms)',
      DSL: 'DSL (1.5 Mbit/s, 50 ms)',
      CABLE: 'cable (5 Mbit/s, 28 ms)',
      CUSTOM: 'other limits',
    },
  },
  'throttling.downloadKbps': {
    label: 'Download',
    hint: 'Kilobits per second, for other limits. Empty: not limited.',
  },
  'throttling.uploadKbps': { label: 'Upload', hint: 'Kilobits per second.' },
  'throttling.latencyMs': { label: 'Latency', hint: 'Milliseconds.' },
  degradedResponseTime: limitsForm['degradedResponseTime'] ?? {},
  maxResponseTime: limitsForm['maxResponseTime'] ?? {},
};
