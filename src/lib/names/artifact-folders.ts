/**
 * The folders under which an agent sends what scripts and suites left: which kind of evidence a file is. The agent alone
 * chooses them, by what Playwright attached; the rest of a name comes from the title of a test, and says nothing.
 */
export const artifactFolders = {
  trace: 'traces',
  video: 'videos',
  screenshot: 'screenshots',
  snapshot: 'snapshots',
} as const;
