import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';

/** One import of a source file by another of the same folder; paths are relative to that folder. */
export interface Import {
  readonly from: string;
  readonly to: string;
  readonly isTypeOnly: boolean;
  /** Inside a function: loaded when it is called. */
  readonly isLazy: boolean;
}

/** Rooms of a folder and what each imports, for types too. A loose file is a room of its own. */
export type Rooms = ReadonlyMap<string, ReadonlySet<string>>;

const importPattern =
  /^(?:import|export)\b[^;]*?from '((?:\.|@picket\/)[^']+)'|import\('((?:\.|@picket\/)[^']+)'\)/gm;

/** Imports between the source files of a folder, unit tests aside. */
export async function importsWithin(baseDir: string, folder: string): Promise<readonly Import[]> {
  const entries = await readdir(join(baseDir, folder), { recursive: true, withFileTypes: true });
  const imports: Import[] = [];
  for (const entry of entries) {
    if (!entry.isFile() || !/\.(ts|cjs)$/.test(entry.name) || entry.name.endsWith('.test.ts')) continue;
    const file = join(entry.parentPath, entry.name);
    const from = relative(join(baseDir, folder), file);
    const text = await readFile(file, 'utf8');
    for (const [whole, fromPath, calledPath] of text.matchAll(importPattern)) {
      const to = relative(
        join(baseDir, folder),
        fileOf(fromPath ?? calledPath ?? '', dirname(file), baseDir),
      );
      if (to.startsWith('..')) continue;
      const isTypeOnly = /^(import|export) type/.test(whole);
      imports.push({ from, to, isTypeOnly, isLazy: calledPath !== undefined });
    }
  }
  return imports;
}

function fileOf(specifier: string, importer: string, baseDir: string): string {
  const [, name, path = ''] = /^@picket\/([^/]+)\/(.+)$/.exec(specifier) ?? [];
  if (name === undefined) return join(importer, specifier);
  const isExtra = existsSync(join(baseDir, 'src/extras', name));
  return join(baseDir, 'src', isExtra ? 'extras' : '', name, path);
}

/** The room of a file: its first folder, or the file itself if it is not in one. */
export function roomOf(file: string): string {
  return file.split('/')[0] ?? file;
}

export function roomsOf(imports: readonly Import[]): Rooms {
  const rooms = new Map<string, Set<string>>();
  const add = (room: string) => rooms.get(room) ?? rooms.set(room, new Set()).get(room);
  for (const { from, to } of imports) {
    add(roomOf(to));
    if (roomOf(from) !== roomOf(to)) add(roomOf(from))?.add(roomOf(to));
  }
  return rooms;
}

/** Strongly connected components of more than one room, the largest first: rooms in import cycles of any length. */
export function knots(rooms: Rooms): readonly (readonly string[])[] {
  const reach = new Map([...rooms.keys()].map((room) => [room, reachedFrom(room, rooms)]));
  const left = new Set(rooms.keys());
  const found: string[][] = [];
  for (const room of rooms.keys()) {
    if (!left.has(room)) continue;
    const knot = [...left].filter(
      (other) => other === room || (reach.get(room)?.has(other) && reach.get(other)?.has(room)),
    );
    for (const member of knot) left.delete(member);
    if (knot.length > 1) found.push(knot.sort());
  }
  return found.sort((one, other) => other.length - one.length);
}

function reachedFrom(start: string, rooms: Rooms): ReadonlySet<string> {
  const reached = new Set<string>();
  const next = [start];
  for (let room = next.pop(); room !== undefined; room = next.pop()) {
    for (const other of rooms.get(room) ?? []) {
      if (reached.has(other)) continue;
      reached.add(other);
      next.push(other);
    }
  }
  return reached;
}

/** Imports that point up in the best order of rooms that a greedy search finds (Eades, Lin and Smyth 1993). */
export function upwardArrows(rooms: Rooms): readonly string[] {
  const order = layerOrder(rooms);
  const place = new Map(order.map((room, index) => [room, index]));
  return [...rooms].flatMap(([room, others]) =>
    [...others]
      .filter((other) => (place.get(other) ?? 0) < (place.get(room) ?? 0))
      .map((other) => `${room} -> ${other}`),
  );
}

/** Rooms from the top, which import, to the bottom, which are imported. */
function layerOrder(rooms: Rooms): readonly string[] {
  const left = new Set(rooms.keys());
  const top: string[] = [];
  const bottom: string[] = [];
  const outward = (room: string) => [...(rooms.get(room) ?? [])].filter((other) => left.has(other)).length;
  const inward = (room: string) => [...left].filter((other) => rooms.get(other)?.has(room)).length;
  const place = (room: string, end: string[]) => {
    left.delete(room);
    end.push(room);
  };
  while (left.size > 0) {
    const sink = [...left].find((room) => outward(room) === 0);
    const source = [...left].find((room) => inward(room) === 0);
    if (sink !== undefined) place(sink, bottom);
    else if (source !== undefined) place(source, top);
    else {
      const [first = ''] = [...left].sort(
        (one, other) => outward(other) - inward(other) - (outward(one) - inward(one)),
      );
      place(first, top);
    }
  }
  return [...top, ...bottom.reverse()];
}
