import { AgenticCheck, BrowserCheck, Frequency, MultiStepCheck, PlaywrightCheck } from 'checkly/constructs';
import { common, group } from './common.ts';

const playwrightConfig = {
  timeout: 20_000,
  expect: { timeout: 3000, toHaveScreenshot: { maxDiffPixels: 10 } },
  use: {
    baseURL: 'https://shop.example.com',
    colorScheme: 'dark',
    geolocation: { longitude: 13.4, latitude: 52.5, accuracy: 10 },
    locale: 'de-DE',
    permissions: ['geolocation'],
    timezoneId: 'Europe/Berlin',
    viewport: { width: 800, height: 600 },
    extraHTTPHeaders: { 'x-monitoring': 'yes' },
    actionTimeout: 4000,
    navigationTimeout: 9000,
    userAgent: 'shop-monitoring',
  },
};
const script = {
  ...common,
  group,
  frequency: Frequency.EVERY_15M,
  runtimeId: '2025.04',
  environmentVariables: [
    { key: 'PLAIN', value: 'plain' },
    { key: 'SECRET', value: 'script-secret', secret: true },
  ],
  playwrightConfig,
};

new BrowserCheck('browser', {
  ...script,
  name: 'Browser',
  sslCheckDomain: 'shop.example.com',
  code: { entrypoint: './shop.spec.ts' },
});
new MultiStepCheck('multi-step', {
  ...script,
  name: 'Multi-step',
  code: { entrypoint: './shop.spec.ts' },
});

const { retryStrategy: _none, ...ofSuites } = script;
const { playwrightConfig: _file, ...suite } = ofSuites;
new PlaywrightCheck('suite', {
  ...suite,
  name: 'Suite',
  playwrightConfigPath: './playwright.config.ts',
  installCommand: 'npm ci',
  testCommand: 'npx playwright test',
  pwProjects: ['desktop'],
  pwTags: ['@smoke'],
  include: ['data.json'],
});

const {
  privateLocations: _own,
  runParallel: _p,
  retryStrategy: _r,
  triggerIncident: _t,
  ...ofAgents
} = common;
new AgenticCheck('agentic', {
  ...ofAgents,
  name: 'In words',
  group,
  frequency: Frequency.EVERY_1H,
  prompt: 'Buy a hat at https://shop.example.com',
  agentRuntime: { skills: ['shop'] },
});
