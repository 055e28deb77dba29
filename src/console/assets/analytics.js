// Initialization that Google Analytics expects on a page.
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
