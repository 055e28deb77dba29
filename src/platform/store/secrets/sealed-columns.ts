import type {
  InsertQueryNode,
  KyselyPlugin,
  OperationNode,
  PluginTransformQueryArgs,
  PluginTransformResultArgs,
  QueryResult,
  RootOperationNode,
  UnknownRow,
  UpdateQueryNode,
} from 'kysely';
import {
  ColumnNode,
  InsertQueryNode as Insert,
  PrimitiveValueListNode,
  RawNode,
  TableNode,
  UpdateQueryNode as Update,
  ValueListNode,
  ValueNode,
  ValuesNode,
} from 'kysely';
import { keyIdOf, type SecretBox } from './secret-box.ts';

/** Content of a sealed column. JSON columns stay JSON: the sealed value is a JSON string. */
type SealedKind = 'text' | 'json';

interface SealedTable {
  /** The columns that identify a row. */
  readonly keys: readonly string[];
  readonly columns: Readonly<Record<string, SealedKind>>;
}

/** All stored values that may contain secrets needed in clear again. Values that are only compared are hashed. */
export const sealedTables: Readonly<Record<string, SealedTable>> = {
  variables: { keys: ['account_id', 'key'], columns: { value: 'text' } },
  snippets: { keys: ['id'], columns: { script: 'text' } },
  client_certificates: { keys: ['id'], columns: { private_key: 'text', passphrase: 'text' } },
  checks: { keys: ['id'], columns: { definition: 'json' } },
  check_groups: { keys: ['id'], columns: { definition: 'json' } },
  alert_channels: { keys: ['id'], columns: { definition: 'json' } },
  former_channels: { keys: ['id'], columns: { definition: 'json' } },
  test_sessions: { keys: ['id'], columns: { environment_variables: 'json' } },
  test_definitions: { keys: ['id'], columns: { definition: 'json', group_definition: 'json' } },
  deployments: { keys: ['id'], columns: { request: 'json' } },
  alert_link_keys: { keys: ['account_id'], columns: { signing_key: 'text' } },
  audit_log: { keys: ['id'], columns: { changes: 'json' } },
  private_locations: { keys: ['id'], columns: { proxy_url: 'text' } },
};

/**
 * Column names in results, including aliases. A column of the same name in another table contains no sealed value, and
 * opening leaves it unchanged.
 */
const sealedNames: Readonly<Record<string, SealedKind>> = {
  ...Object.assign({}, ...Object.values(sealedTables).map(({ columns }) => columns)),
  group_definition: 'json',
};
const sealedEntries = Object.entries(sealedNames);

export function sealValue(box: SecretBox, kind: SealedKind, value: string): string {
  if (kind === 'text') return box.seal(value);
  // JSON in clear is an object or a list, and never looks sealed.
  return box.keyId === undefined ? value : JSON.stringify(box.seal(value));
}

export function openValue(box: SecretBox, kind: SealedKind, stored: string): string {
  if (kind === 'text') return box.open(stored);
  return stored.startsWith('"') ? box.open(JSON.parse(stored) as string) : stored;
}

/** Returns the id of the key that sealed a stored value; undefined if it is in clear. */
export function keyOfValue(kind: SealedKind, stored: string): string | undefined {
  if (kind === 'text') return keyIdOf(stored);
  return stored.startsWith('"') ? keyIdOf(JSON.parse(stored) as string) : undefined;
}

/**
 * Seals values written to sealed columns and opens values read from them, in every statement: repositories are not
 * involved, so none can forget it.
 */
export class SealedColumns implements KyselyPlugin {
  readonly #box: SecretBox;

  constructor(box: SecretBox) {
    this.#box = box;
  }

  transformQuery({ node }: PluginTransformQueryArgs): RootOperationNode {
    if (Insert.is(node)) return this.#insert(node);
    if (Update.is(node)) return this.#update(node);
    if (RawNode.is(node)) refuseSealed(node);
    return node;
  }

  async transformResult({ result }: PluginTransformResultArgs): Promise<QueryResult<UnknownRow>> {
    const [first] = result.rows;
    if (!first) return result;
    const sealed = sealedEntries.filter(([name]) => name in first);
    // In place: the rows are new, and copies would cost as much as reading them.
    for (const row of sealed.length === 0 ? [] : result.rows) {
      for (const [name, kind] of sealed) {
        const value = row[name];
        if (typeof value === 'string') row[name] = openValue(this.#box, kind, value);
      }
    }
    return result;
  }

  #insert(node: InsertQueryNode): RootOperationNode {
    const columns = columnsOf(node.into);
    if (!columns) return node;
    const kinds = (node.columns ?? []).map((column) => columns[column.column.name]);
    if (!kinds.some((kind) => kind !== undefined)) return node;
    const values = node.values;
    if (!values || !ValuesNode.is(values)) throw unsealable();
    const lists = values.values.map((list) => {
      if (PrimitiveValueListNode.is(list)) {
        return PrimitiveValueListNode.create(
          list.values.map((value, index) => this.#seal(kinds[index], value)),
        );
      }
      return ValueListNode.create(list.values.map((value, index) => this.#sealNode(kinds[index], value)));
    });
    return { ...node, values: ValuesNode.create(lists) } as InsertQueryNode;
  }

  #update(node: UpdateQueryNode): RootOperationNode {
    const columns = node.table && columnsOf(node.table);
    if (!columns || !node.updates) return node;
    const updates = node.updates.map((update) => {
      const kind = ColumnNode.is(update.column) ? columns[update.column.column.name] : undefined;
      return kind === undefined ? update : { ...update, value: this.#sealNode(kind, update.value) };
    });
    return { ...node, updates } as UpdateQueryNode;
  }

  #sealNode(kind: SealedKind | undefined, node: OperationNode): OperationNode {
    if (kind === undefined) return node;
    if (!ValueNode.is(node)) throw unsealable();
    return ValueNode.create(this.#seal(kind, node.value));
  }

  #seal(kind: SealedKind | undefined, value: unknown): unknown {
    return kind === undefined || typeof value !== 'string' ? value : sealValue(this.#box, kind, value);
  }
}

/** Values in raw SQL would not be sealed. */
function refuseSealed({ parameters }: RawNode): void {
  for (const node of parameters) {
    if (RawNode.is(node)) refuseSealed(node);
    if (Insert.is(node) && columnsOf(node.into)) throw unsealable();
    if (Update.is(node) && columnsOf(node.table)) throw unsealable();
  }
}

function columnsOf(node: OperationNode | undefined): Readonly<Record<string, SealedKind>> | undefined {
  if (!node || !TableNode.is(node)) return undefined;
  return sealedTables[node.table.identifier.name]?.columns;
}

/** A statement that writes a secret in a form that cannot be sealed is our own bug, and not executed. */
function unsealable(): Error {
  return new Error('a sealed column is written by an expression');
}
