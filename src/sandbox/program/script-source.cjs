'use strict';
/** Classifies scripts without running them, with the parser of the runtime's own Playwright. */
const Module = require('node:module');
const path = require('node:path');

/** The package that scripts use to report to the agent, and its name in migrated projects. */
const helpersName = '@service/playwright-helpers';
const otherHelpersName = '@checkly/playwright-helpers';

/** Replaces the package's other name in an ES module by the agent's own: Node resolves its imports itself. */
function withOwnHelpers(source) {
  return source.replaceAll(/(['"])@checkly\/playwright-helpers\1/g, `$1${helpersName}$1`);
}

/** The modules from which test scripts import `test`. */
const testModule = /(['"`])(?:@playwright\/test|playwright\/test)\1/;

/**
 * Whether scripts are for Playwright's test runner: one of them contains the module's name and, apart from that, the
 * word `test`. Code that only uses `expect` or `chromium` from there is a plain script.
 */
function isTestMode(sources) {
  return sources.some(
    (source) =>
      testModule.test(source) && /\btest\b/.test(source.replaceAll(new RegExp(testModule, 'g'), '')),
  );
}

/**
 * Parses a script to a syntax tree.
 *
 * @throws SyntaxError
 */
function parse(modulesDirectory, source) {
  const babel = require(path.join(modulesDirectory, 'playwright/lib/transform/babelBundle.js'));
  if (babel.babelParse) return babel.babelParse(source, 'script.mts', true);
  // Playwright 1.48 has no parser of its own.
  const plugin = require.resolve('./syntax-tree-plugin.cjs');
  babel.babelTransform(source, 'script.mts', true, true, [[plugin]], []);
  return require(plugin).take();
}

/** Whether a program uses top-level await, which only ES modules support. */
function hasTopLevelAwait(tree) {
  const isAwaiting = (node) => {
    if (typeof node !== 'object' || node === null) return false;
    if (Array.isArray(node)) return node.some(isAwaiting);
    if (typeof node.type !== 'string') return false;
    if (/Function|Method$|ClassPrivateMethod/.test(node.type)) return false;
    if (node.type === 'AwaitExpression' || (node.type === 'ForOfStatement' && node.await)) return true;
    return Object.entries(node).some(([key, value]) => key !== 'loc' && isAwaiting(value));
  };
  return isAwaiting(tree.program.body);
}

const declarations =
  /^(?:FunctionDeclaration|ClassDeclaration|EmptyStatement|ExportAllDeclaration|TS(?:Interface|TypeAlias|Module|Enum)Declaration|TSDeclareFunction)$/;
const actions =
  /^(?:NewExpression|AwaitExpression|TaggedTemplateExpression|AssignmentExpression|UpdateExpression|Import|ImportExpression|ThrowStatement)$/;

/** Whether a plain script only declares and loads packages: running it would do nothing and pass without proof. */
function isWithoutAction(tree) {
  return tree.program.body.every(isIdle);
}

function isIdle(node) {
  if (node === null || node === undefined || declarations.test(node.type)) return true;
  if (node.type === 'ImportDeclaration') return isPackage(node.source);
  if (/^Export(?:Named|Default)Declaration$/.test(node.type)) return isIdle(node.declaration);
  const { expression } = node;
  // Exports do not count as an action.
  if (node.type === 'ExpressionStatement' && isExport(expression)) return !isActing(expression.right);
  if (node.type === 'ExpressionStatement' || node.type === 'VariableDeclaration') return !isActing(node);
  return /Expression$|Literal$/.test(node.type) && !isActing(node);
}

function isExport({ type, left }) {
  if (type !== 'AssignmentExpression') return false;
  let root = left;
  while (root.type === 'MemberExpression') root = root.object;
  return root !== left && (root.name === 'module' || root.name === 'exports');
}

/** Whether evaluating an expression has an effect; the bodies of functions are not evaluated. */
function isActing(node) {
  if (typeof node !== 'object' || node === null) return false;
  if (Array.isArray(node)) return node.some(isActing);
  if (/Function|Method$|ClassPrivateMethod/.test(node.type ?? '')) return false;
  if (actions.test(node.type ?? '')) return true;
  if (/^(?:Optional)?CallExpression$/.test(node.type ?? '')) {
    return !(node.callee.name === 'require' && node.arguments.length === 1 && isPackage(node.arguments[0]));
  }
  return Object.entries(node).some(([key, value]) => key !== 'loc' && isActing(value));
}

/** Loading the check's own files may have effects; packages are loaded to be used. */
function isPackage({ value }) {
  return typeof value === 'string' && !/^[./]/.test(value);
}

/**
 * Converts a plain script to the body of an async function: imports become require() on the same lines, `export` is
 * removed. Types remain.
 */
function asFunctionBody(source, tree) {
  const edits = [];
  let count = 0;
  for (const node of tree.program.body) {
    if (node.type === 'ImportDeclaration') {
      edits.push([node.start, node.end, requireText(node, `__module${count}`)]);
      count += 1;
    } else if (node.type === 'ExportDefaultDeclaration') {
      edits.push([
        node.start,
        node.declaration.start,
        /^(Function|Class)/.test(node.declaration.type) ? '' : 'void ',
      ]);
    } else if (node.type === 'ExportNamedDeclaration') {
      edits.push(node.declaration ? [node.start, node.declaration.start, ''] : [node.start, node.end, '']);
    }
  }
  let body = source;
  for (const [start, end, text] of edits.reverse()) {
    const lines = '\n'.repeat(source.slice(start, end).split('\n').length - 1);
    body = `${body.slice(0, start)}${text}${lines}${body.slice(end)}`;
  }
  return body;
}

function requireText(node, name) {
  if (node.importKind === 'type') return '';
  const loaded = `require(${JSON.stringify(node.source.value)})`;
  const wanted = node.specifiers.filter(({ importKind }) => importKind !== 'type');
  if (wanted.length === 0) return node.specifiers.length === 0 ? `${loaded};` : '';
  const parts = [`const ${name} = ${loaded}`];
  for (const { type, local, imported } of wanted) {
    const key = imported?.name ?? imported?.value;
    if (type === 'ImportNamespaceSpecifier') parts.push(`${local.name} = ${name}`);
    else if (type === 'ImportDefaultSpecifier' || key === 'default') {
      parts.push(`${local.name} = ${name} && ${name}.__esModule ? ${name}.default : ${name}`);
    } else parts.push(`${local.name} = ${name}[${JSON.stringify(key)}]`);
  }
  return `${parts.join(', ')};`;
}

/**
 * Replaces types by blanks, so that lines and columns are preserved; enums and similar syntax require a transformation,
 * which may move lines.
 */
function withoutTypes(source) {
  const { emitWarning } = process;
  // Node warns on each call that the function is experimental; that does not belong in the script's output.
  process.emitWarning = () => undefined;
  try {
    return Module.stripTypeScriptTypes(source);
  } catch (error) {
    if (error.code !== 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX') throw error;
    return Module.stripTypeScriptTypes(source, { mode: 'transform' });
  } finally {
    process.emitWarning = emitWarning;
  }
}

module.exports = {
  helpersName,
  otherHelpersName,
  withOwnHelpers,
  isTestMode,
  parse,
  hasTopLevelAwait,
  isWithoutAction,
  asFunctionBody,
  withoutTypes,
};
