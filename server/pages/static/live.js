// Keeps parts of a page fresh. Everything works without it.
//
//   <section id="x" data-refresh="5">     is fetched again every 5 seconds while the page is visible
//   <form data-live="x">                  fetches its page when a field changes and replaces the element x
//   <input type="range" data-slides="f">  is shown, and moves the date in the field f: its value counts days since 1970
"use strict";

const day = 86400000;

async function replace(id, url) {
  const answer = await fetch(url, {headers: {"X-Requested-With": "live"}});
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById(id);
  const old = document.getElementById(id);
  if (!fresh) return location.reload(); // signed out, or an error
  if (!old.contains(document.activeElement)) old.replaceWith(document.adoptNode(fresh));
}

for (const section of document.querySelectorAll("[data-refresh]")) {
  const id = section.id;
  setInterval(() => {
    if (!document.hidden) replace(id, location.href).catch(() => {}); // the next one may succeed
  }, section.dataset.refresh * 1000);
}

for (const slider of document.querySelectorAll("input[data-slides]")) {
  const field = document.getElementById(slider.dataset.slides);
  const show = () => {
    slider.value = Date.parse(field.value) / day;
    slider.setAttribute("aria-valuetext", field.value);
  };
  slider.closest("[hidden]").hidden = false;
  slider.addEventListener("input", () => {
    field.value = new Date(slider.value * day).toISOString().slice(0, 10);
    show();
    field.form.dispatchEvent(new Event("input"));
  });
  field.addEventListener("input", show);
  show();
}

for (const form of document.querySelectorAll("form[data-live]")) {
  let timer, sent = 0;
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      const url = form.action + "?" + new URLSearchParams(new FormData(form));
      const mine = ++sent;
      const shown = document.getElementById(form.dataset.live);
      shown.setAttribute("aria-busy", "true");
      if (!form.checkValidity()) return;
      await replace(form.dataset.live, url).catch(() => {});
      if (mine === sent) history.replaceState(null, "", url);
    }, 150);
  });
}
