import { defineConfig } from 'checkly';
import { Frequency } from 'checkly/constructs';

export default defineConfig({
  projectName: 'Shop',
  logicalId: 'shop',
  repoUrl: 'https://git.example.com/shop/monitoring',
  checks: {
    activated: true,
    muted: false,
    runtimeId: '2026.04',
    frequency: Frequency.EVERY_10M,
    privateLocations: ['office'],
    tags: ['shop'],
    checkMatch: '**/*.check.ts',
    browserChecks: { frequency: Frequency.EVERY_30M, testMatch: '**/*.spec.ts' },
  },
  cli: { privateRunLocation: 'office' },
});
