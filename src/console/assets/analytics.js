// What Google Analytics expects of a page that it counts the readers of.
{
  const { tag } = document.currentScript.dataset;
  globalThis.dataLayer = globalThis.dataLayer || [];
  globalThis.gtag = function gtag() {
    // The library reads the list of arguments itself, not an array of them.
    // biome-ignore lint/complexity/noArguments: see above
    globalThis.dataLayer.push(arguments);
  };
  globalThis.gtag('js', new Date());
  globalThis.gtag('config', tag);
}
