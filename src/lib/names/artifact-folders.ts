/**
 * Folders under which an agent uploads the artifacts of scripts and suites, one per kind of evidence. The agent derives
 * the kind from Playwright's attachments; the rest of a name is from the title of a test and carries no meaning.
 */
export const artifactFolders = {
  trace: 'traces',
  video: 'videos',
  screenshot: 'screenshots',
  snapshot: 'snapshots',
} as const;
