/**
 * Settings of package managers that choose where packages come from and how they are laid out, but run and read no
 * file. Any other setting may name a program, a hook or a folder of the suite.
 */

const words = (text) => new Set(text.trim().split(/\s+/));

/** Of npm and pnpm, in .npmrc and in variables. */
const npmNames = words(`
  registry always-auth email strict-ssl https-proxy proxy http-proxy noproxy maxsockets network-concurrency
  fetch-retries fetch-retry-factor fetch-retry-mintimeout fetch-retry-maxtimeout fetch-timeout
  prefer-offline prefer-online minimum-release-age min-release-age
  audit audit-level fund color loglevel progress update-notifier save-exact save-prefix
  engine-strict ignore-scripts legacy-peer-deps strict-peer-deps omit include optional
  package-lock lockfile frozen-lockfile prefer-frozen-lockfile omit-lockfile-registry-resolved
  auto-install-peers strict-peer-dependencies dedupe-peer-dependents resolve-peers-from-workspace-root
  hoist hoist-pattern hoist-workspace-packages public-hoist-pattern shamefully-hoist node-linker
  link-workspace-packages prefer-workspace-packages save-workspace-protocol shared-workspace-lockfile
  package-import-method resolution-mode side-effects-cache manage-package-manager-versions
`);

/** Registries of scopes, and credentials of registries. */
const npmPatterns = [
  /^@[^:]+:registry$/,
  /^\/\/.+:(?:_authtoken|_auth|username|_password|email|always-auth)$/,
  /^_auth(?:token)?$/,
];

/** Of .yarnrc.yml. */
const yarnNames = words(`
  nodeLinker nmHoistingLimits nmSelfReferences npmRegistryServer npmScopes npmRegistries npmAuthToken npmAuthIdent
  npmAlwaysAuth npmMinimalAgeGate enableTelemetry enableGlobalCache enableScripts enableProgressBars enableColors
  enableMessageNames enableImmutableInstalls enableStrictSsl compressionLevel defaultSemverRangePrefix
  httpTimeout httpRetry httpProxy httpsProxy networkConcurrency preferInteractive supportedArchitectures
  packageExtensions logFilters unsafeHttpWhitelist yarnPath
`);

/** Of .yarnrc. A path to another Yarn has no effect here. */
const yarn1Line =
  /^(?:"?(?:@[^\s:]+:)?registry"? |network-timeout |strict-ssl |save-prefix |yarn-path |--install\.frozen-lockfile |#|$)/;

/** Of pnpm-workspace.yaml. */
const workspaceNames = words(`
  packages catalog catalogs catalogMode cleanupUnusedCatalogs overrides packageExtensions allowedDeprecatedVersions
  hoist hoistPattern publicHoistPattern shamefullyHoist hoistWorkspacePackages nodeLinker autoInstallPeers
  strictPeerDependencies peerDependencyRules dedupePeerDependents linkWorkspacePackages preferWorkspacePackages
  sharedWorkspaceLockfile saveWorkspaceProtocol resolutionMode minimumReleaseAge minimumReleaseAgeExclude trustPolicy
  blockExoticSubdeps onlyBuiltDependencies neverBuiltDependencies ignoredBuiltDependencies allowBuilds strictDepBuilds
  engineStrict supportedArchitectures updateConfig
`);

/** Of the field `pnpm` in package.json. */
export const pnpmFields = words(`
  overrides peerDependencyRules packageExtensions onlyBuiltDependencies neverBuiltDependencies
  ignoredBuiltDependencies allowedDeprecatedVersions supportedArchitectures updateConfig
`);

const variablePatterns = [
  /^yarn_(?:registry|npm_(?:registry_server|auth_token|auth_ident|always_auth)|unsafe_http_whitelist)$/i,
  /^yarn_(?:https?_proxy|http_timeout|http_retry|network_timeout|network_concurrency|(?:enable_)?strict_ssl)$/i,
  /^(?:https?|no|all)_proxy$/i,
  /^(?:NODE_AUTH_TOKEN|NODE_EXTRA_CA_CERTS|NODE_TLS_REJECT_UNAUTHORIZED|SSL_CERT_FILE|SSL_CERT_DIR)$/,
];

/** Variables that change which programs run, or what they load, whatever refers to them. */
const programVariable =
  /^(?:(?:NODE|LD|GIT|XDG|SSH|BASH|COREPACK|YARN|PNPM|PICKET)_.*|PATH|HOME|TMPDIR|ENV|SHELL|IFS|EDITOR)$/i;

function isNpmSetting(key) {
  const name = key.toLowerCase();
  return npmNames.has(name.replaceAll('_', '-')) || npmPatterns.some((pattern) => pattern.test(name));
}

/** The first setting of an .npmrc that is not known to be harmless. */
export function unknownNpmSetting(text) {
  for (const line of text.split(/\r?\n/)) {
    const content = line.trim();
    if (content === '' || /^[#;]/.test(content)) continue;
    const key = content.split('=')[0].trim().replace(/\[\]$/, '');
    if (!isNpmSetting(key)) return key;
  }
  return undefined;
}

export function unknownYarn1Setting(text) {
  return text.split(/\r?\n/).find((line) => !yarn1Line.test(line.trim()));
}

export const unknownYarnSetting = (text) => unknownYamlKey(text, yarnNames);
export const unknownWorkspaceSetting = (text) => unknownYamlKey(text, workspaceNames);

/** Only plain keys at the start of a line are read; whatever may hide another one is unknown. */
function unknownYamlKey(text, known) {
  for (const line of text.split(/\r?\n/)) {
    const bare = line.replace(/(['"]).*?\1/g, '');
    if (line.includes('../') || /<<|: *[&*]\w/.test(bare)) return line.trim();
    if (/^(?:\s|#|- |$)/.test(line)) continue;
    const key = /^(['"]?)([A-Za-z]+)\1:(?:\s|$)/.exec(line)?.[2];
    if (key === undefined || !known.has(key)) return key ?? line;
  }
  return undefined;
}

/**
 * Chooses the variables of an installation that is not for one suite alone.
 *
 * @param names the variables of the check.
 * @param named those that settings refer to, such as `NPM_TOKEN`.
 * @returns their names, or the one that may change more than the source of packages.
 */
export function harmlessVariables(names, named) {
  const chosen = [];
  for (const name of names) {
    const setting = /^p?npm_config_(.*)$/i.exec(name)?.[1];
    const isSetting = /^(?:p?npm_config|pnpm|yarn)_/i.test(name);
    if (setting !== undefined ? isNpmSetting(setting) : variablePatterns.some((one) => one.test(name))) {
      chosen.push(name);
    } else if (isSetting || (named.includes(name) && programVariable.test(name))) return { unknown: name };
    else if (named.includes(name)) chosen.push(name);
  }
  return { chosen };
}
