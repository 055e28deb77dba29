import { fileURLToPath } from 'node:url';

/** Where the programs lie that run inside sandboxes. They are files of their own wherever this program is built. */
export const programDirectory = fileURLToPath(new URL('./program/', import.meta.url));
