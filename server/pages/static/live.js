// Keeps parts of a page fresh. Everything works without it.
//
//   <section id="x" data-refresh="5">     is fetched again every 5 seconds while the page is visible
//   <form data-live="x">                  fetches its page when a field changes and shows its element x
//   <input type="range" data-slides="f">  is shown, and moves the date in the field f: its value counts days since 1970
"use strict";

const day = 86400000;

// refresh shows what the element with an id contains in another answer. It is the same element, so that a screen reader
// notices the change.
async function refresh(id, url, signal) {
  const answer = await fetch(url, {signal});
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById(id);
  if (!fresh) return location.reload(); // signed out, or an error
  const shown = document.getElementById(id);
  if (!shown.contains(document.activeElement)) shown.replaceChildren(...fresh.childNodes);
}

for (const section of document.querySelectorAll("[data-refresh]")) {
  setInterval(() => {
    if (!document.hidden) refresh(section.id, location.href).catch(() => {}); // the next time may succeed
  }, section.dataset.refresh * 1000);
}

for (const slider of document.querySelectorAll("input[data-slides]")) {
  const field = document.getElementById(slider.dataset.slides);
  const follow = () => {
    slider.value = Date.parse(field.value) / day;
    slider.setAttribute("aria-valuetext", field.value);
  };
  slider.closest("[hidden]").hidden = false;
  slider.addEventListener("input", () => {
    field.value = new Date(slider.value * day).toISOString().slice(0, 10);
    slider.setAttribute("aria-valuetext", field.value);
  });
  field.addEventListener("input", follow);
  follow();
}

for (const form of document.querySelectorAll("form[data-live]")) {
  let timer, request = new AbortController();
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      request.abort();
      request = new AbortController();
      if (!form.checkValidity()) return;
      const url = form.action + "?" + new URLSearchParams(new FormData(form));
      await refresh(form.dataset.live, url, request.signal).catch(() => {}); // the next change may succeed
      history.replaceState(null, "", url);
    }, 150);
  });
}
