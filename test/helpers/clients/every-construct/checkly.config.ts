import { defineConfig } from 'checkly';

export default defineConfig({
  projectName: 'Every construct',
  logicalId: 'every-construct',
  repoUrl: 'https://git.example.com/shop/every-construct',
  checks: { checkMatch: '**/*.check.ts', runtimeId: '2025.04', tags: ['from-config'] },
  cli: { privateRunLocation: 'office' },
});
