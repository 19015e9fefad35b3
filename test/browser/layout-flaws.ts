import type { Page } from 'playwright-core';

/**
 * Runs in the page, which knows the sizes: what is wider than the screen, which text is cut off without an
 * ellipsis, and which texts lie on top of each other.
 */
const FIND_FLAWS = `() => {
  const flaws = [];
  const say = (element) => {
    const { tagName, classList, textContent } = element;
    const text = textContent.replace(/\\s+/g, ' ').trim();
    return '<' + [tagName.toLowerCase(), ...classList].join('.') + '> "' + text.slice(0, 60) + '"';
  };
  const styles = new Map();
  const styleOf = (element) => {
    if (!styles.has(element)) styles.set(element, getComputedStyle(element));
    return styles.get(element);
  };

  /** What contains it, from the inside out, up to what floats above the page. */
  const chains = new Map();
  const chainOf = (element) => {
    if (chains.has(element)) return chains.get(element);
    const { position, overflowX, overflowY, textOverflow, clipPath, opacity, visibility } = styleOf(element);
    const isLayer = ['fixed', 'sticky'].includes(position) || element.matches('dialog, [popover]');
    const outer = element.parentElement === null ? null : chainOf(element.parentElement);
    const box = element.getBoundingClientRect();
    const chain = {
      layer: isLayer ? element : (outer?.layer ?? null),
      isHidden: visibility === 'hidden' || opacity === '0' || clipPath !== 'none' || outer?.isHidden === true,
      scrolls: (!isLayer && outer?.scrolls === true) || /auto|scroll/.test(overflowX),
      clips: isLayer ? [] : [...(outer?.clips ?? [])],
    };
    if (overflowX !== 'visible' && element !== document.documentElement && element !== document.body) {
      const cuts = (overflow) => overflow === 'hidden' || overflow === 'clip';
      const isCut = { x: cuts(overflowX) && textOverflow !== 'ellipsis', y: cuts(overflowY) };
      chain.clips.push({ element, box, isCut });
    }
    chains.set(element, chain);
    return chain;
  };

  const modal = document.querySelector('dialog[open]');
  const pieces = [];
  const walker = document.createTreeWalker(modal ?? document.body, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const element = node.parentElement;
    if (node.data.trim() === '' || element.closest('script, style, option, .hidden-text') !== null) continue;
    const { layer, isHidden, scrolls, clips } = chainOf(element);
    if (isHidden) continue;
    range.selectNodeContents(node);
    for (const { left, right, top, bottom } of range.getClientRects()) {
      const piece = { element, layer, left, right, top, bottom };
      if (right - left < 1 || bottom - top < 1) continue;
      for (const { element: outer, box, isCut } of clips) {
        const isAcross = piece.right > box.right + 1.5 || piece.left < box.left - 1.5;
        const isBelow = piece.bottom > box.bottom + 4 || piece.top < box.top - 4;
        const isGone = piece.left >= box.right || piece.right <= box.left || box.width < 2;
        if (isAcross && isCut.x && !isGone) flaws.push(say(element) + ' is cut off by ' + say(outer));
        if (isBelow && isCut.y && box.height > 2) {
          flaws.push(say(element) + ' is cut off above or below by ' + say(outer));
        }
        Object.assign(piece, {
          left: Math.max(piece.left, box.left),
          right: Math.min(piece.right, box.right),
          top: Math.max(piece.top, box.top),
          bottom: Math.min(piece.bottom, box.bottom),
        });
      }
      if (piece.right - piece.left < 1 || piece.bottom - piece.top < 1) continue;
      if (piece.right > innerWidth + 1 && !scrolls) flaws.push(say(element) + ' sticks out of the screen');
      pieces.push(piece);
    }
  }

  pieces.sort((one, other) => one.top - other.top);
  pieces.forEach((one, index) => {
    for (let next = index + 1; next < pieces.length && pieces[next].top < one.bottom; next++) {
      const other = pieces[next];
      if (one.layer !== other.layer || one.element === other.element) continue;
      const width = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      const height = Math.min(one.bottom, other.bottom) - other.top;
      const least = Math.min(one.bottom - one.top, other.bottom - other.top);
      if (width > 2 && height > least * 0.35) flaws.push(say(one.element) + ' lies on ' + say(other.element));
    }
  });

  // Codes to be typed keep their lines.
  for (const { element } of new Set([...chains.values()].flatMap(({ clips }) => clips))) {
    const isScrolled = /auto|scroll/.test(styleOf(element).overflowX) && !element.matches('.code-box');
    const isWide = element.scrollWidth > element.clientWidth + 1;
    if (isScrolled && isWide) flaws.push(say(element) + ' scrolls sideways');
  }
  for (const input of document.querySelectorAll('input[placeholder]')) {
    const isCut = input.value === '' && input.scrollWidth > input.clientWidth + 1;
    if (isCut) flaws.push('the placeholder "' + input.placeholder + '" is cut off');
  }
  // The end of a long name stands beside what is left of the rest.
  for (const tail of document.querySelectorAll('.name .tail')) {
    const [end, rest, name] = [tail, tail.parentElement, tail.closest('.name')].map((part) => {
      return part.getBoundingClientRect();
    });
    const overlap = Math.min(end.right, rest.right) - Math.max(end.left, rest.left);
    const isInside = end.left >= name.left - 1 && end.right <= name.right + 1;
    const isCut = tail.scrollWidth > tail.clientWidth + 1;
    if (name.width > 0 && (isCut || end.width < 2 || overlap > 1 || !isInside)) {
      flaws.push('the end of ' + say(tail.parentElement) + ' is not shown');
    }
  }
  if (document.documentElement.scrollWidth > innerWidth) {
    const wide = [...document.querySelectorAll('body *')].filter((element) => {
      return element.getBoundingClientRect().right > innerWidth + 1 && !chainOf(element).scrolls;
    });
    const last = wide.at(-1);
    const culprit = last === undefined ? 'something' : say(last);
    flaws.push('the page is ' + document.documentElement.scrollWidth + ' px wide because of ' + culprit);
  }
  return flaws;
}`;

const LOOK = `(async () => {
  // After a change of its size, the page draws itself anew.
  for (const _ of 'ab') await new Promise(requestAnimationFrame);
  return [...new Set((${FIND_FLAWS})())];
})()`;

/** Runs in the page: what the themes set that is no color or shadow, and could change sizes. */
const FIND_THEMED_SIZES = `() => {
  const isColor = (text) => CSS.supports('color', text) || CSS.supports('box-shadow', text);
  const listRules = (list) => [...list].flatMap((rule) => [rule, ...listRules(rule.cssRules ?? [])]);
  return [...document.styleSheets]
    .flatMap(({ cssRules }) => listRules(cssRules))
    .filter(({ cssText, selectorText }) => /data-theme|prefers-color/.test(selectorText ?? cssText))
    .flatMap(({ style, cssText }) => (style === undefined ? [cssText] : [...style].map((name) => {
      const value = style.getPropertyValue(name);
      return name === 'color-scheme' || isColor(value) ? '' : name + ': ' + value;
    })))
    .filter((text) => text !== '');
}`;

/** The narrowest of each layout, and one that is wide. */
const WIDTHS = [1440, 1200, 1024, 720, 390];

/** Looks at the page in every layout, in one theme: they are alike in all but colors, see below. */
export async function findFlaws(page: Page, place: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 });
    const flaws = (await page.evaluate(LOOK)) as readonly string[];
    found.push(...flaws.map((flaw) => `${place}, ${width} px: ${flaw}`));
  }
  return found;
}

/** What differs between the themes and is no color. */
export function findThemedSizes(page: Page): Promise<readonly string[]> {
  return page.evaluate(`(${FIND_THEMED_SIZES})()`);
}
