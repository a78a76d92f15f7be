"""The face of an interactive figure that needs no kernel: every frame, drawn into the page."""

import hashlib
import html
import itertools
import json
import re

from bayeslib.errors import BayeslibError

from ..plots import Picture
from .ranges import call

PLAY_MILLISECONDS = 700
AUTOPLAY_MILLISECONDS = 400  # nobody has asked for it, so it is soon over

# Runs once for each explorer on the page, however many copies of it the page holds.
SCRIPT = """
document.querySelectorAll('.explorer:not([data-live])').forEach(root => {
  root.dataset.live = '';
  const controls = [...root.querySelectorAll('input,select')], play = root.querySelector('button');
  const caption = root.querySelector('figcaption'), parse = node => [node.querySelector('svg'),
    node.querySelector('figcaption')?.textContent];
  const frames = [...root.querySelectorAll('template')].map(t => t.content);
  let svg = root.querySelector('svg');
  frames.splice(+root.dataset.start, 0, {start: [svg, caption?.textContent]});
  const size = c => (c.options ? c.options.length : +c.max + 1);
  const update = () => {
    let k = 0;
    controls.forEach(c => {
      k = k * size(c) + +c.value;
      if (c.dataset.labels) {
        const text = JSON.parse(c.dataset.labels)[c.value];
        c.setAttribute('aria-valuetext', text);
        c.closest('div').querySelector('output').textContent = text;
      }
    });
    const [next, words] = frames[k].start || parse(frames[k]);
    const copy = next.cloneNode(true);
    svg.replaceWith(copy);
    svg = copy;
    if (caption && caption.textContent !== words) caption.textContent = words;
  };
  controls.forEach(c => c.addEventListener('input', () => { stop(); update(); }));
  let timer = 0;
  const still = matchMedia('(prefers-reduced-motion: reduce)');
  const name = () => {
    if (play) play.textContent = still.matches ? 'Step' : timer ? 'Pause' : 'Play';
    caption?.setAttribute('aria-live', timer ? 'off' : 'polite');
  };
  const stop = () => { clearInterval(timer); timer = 0; name(); };
  const played = () => controls[+play.dataset.plays];
  const atEnd = () => +played().value === size(played()) - 1;
  const step = () => {
    played().value = (+played().value + 1) % size(played());
    update();
    if (atEnd()) stop();
  };
  if (play) {
    play.addEventListener('click', () => {
      if (timer) return stop();
      step();
      if (!still.matches && !atEnd()) timer = setInterval(step, +play.dataset.pause);
      name();
    });
    still.addEventListener('change', stop);
  }
  const begin = () => {
    played().value = 0;
    update();
    timer = setTimeout(() => { timer = setInterval(step, +play.dataset.pause); }, 1000);
    name();
  };
  name();
  root.querySelector('.explorer-controls').hidden = false;
  update();
  if (play && 'autoplay' in play.dataset && !still.matches) {
    new IntersectionObserver((entries, observer) => {
      if (!entries.some(entry => entry.isIntersecting)) return;
      observer.disconnect();
      if (atEnd()) begin();
    }, {threshold: 0.5}).observe(root.querySelector('figure'));
  }
});
"""


def prerender(story):
    """Draw every frame into HTML; the first one in sight for readers without JavaScript."""
    first = story.frame(story.start, png=True)
    if story.frame(story.start).svg != first.svg:
        raise BayeslibError(
            f"draw({call(story.settings(story.start))}) gave two different figures when called "
            "twice; make its random generator inside draw, from a fixed seed"
        )
    # Only one frame is in the document at a time, so all may share the ids of one prefix.
    prefix = "e" + hashlib.sha256(first.svg.encode()).hexdigest()[:7]
    templates, position = [], 0
    every = itertools.product(*(range(len(story.values[name])) for name in story.names))
    for k, index in enumerate(every):
        if index == story.start:
            position = k
            continue
        frame = story.frame(index, prefix=prefix)
        templates.append(f"<template>{frame.svg}{figcaption(frame.caption)}</template>")
    controls = "".join(_control(story, i) for i in range(len(story.names)))
    if story.play is not None:
        pause = AUTOPLAY_MILLISECONDS if story.autoplay else PLAY_MILLISECONDS
        controls += (
            f'<button type="button" data-plays="{story.names.index(story.play)}" '
            f'data-pause="{pause}"{" data-autoplay" * story.autoplay}>Play</button>'
        )
    page = (
        f'<div class="explorer" data-start="{position}">'
        f"<figure>{first.svg}{figcaption(first.caption)}</figure>"
        '<div class="explorer-controls" role="group" aria-label="Figure settings" hidden>'
        f"{controls}</div>"
        f"{''.join(templates)}<script>{SCRIPT}</script></div>"
    )
    return Picture(page, first.png)


def _control(story, i):
    name = story.names[i]
    texts, chosen = story.texts[name], story.start[i]
    label = html.escape(story.labels[name])
    if isinstance(story.values[name][0], str):
        options = "".join(
            f'<option value="{k}"{" selected" * (k == chosen)}>{html.escape(text)}</option>'
            for k, text in enumerate(texts)
        )
        return (
            f'<div><label><span>{label}</span> <select autocomplete="off">{options}</select>'
            "</label></div>"
        )
    # The slider says its own value; an output that says it again would be heard twice.
    return (
        f'<div><label><span>{label}</span> <input type="range" min="0" max="{len(texts) - 1}" '
        f'value="{chosen}" autocomplete="off" aria-valuetext="{html.escape(texts[chosen])}" '
        f'data-labels="{html.escape(json.dumps(texts, ensure_ascii=False))}"></label> '
        f'<output aria-live="off">{html.escape(texts[chosen])}</output></div>'
    )


def figcaption(words):
    """Return the line beneath a figure, announced when it changes; nothing for None.

    The hyphen of a negative number becomes a minus sign.
    """
    if words is None:
        return ""
    words = re.sub(r"(?<![\w.)])-(?=\.?\d)", "−", words)
    return f'<figcaption aria-live="polite">{html.escape(words)}</figcaption>'
