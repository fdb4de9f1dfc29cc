// Ages belong to the day of reading, so the pages carry dates and the browser adds the age.
const addAges = () => {
  for (const time of document.querySelectorAll("time[datetime]:not([data-aged])")) {
    const days = Math.floor((Date.now() - Date.parse(time.dateTime)) / 86400000);
    if (Number.isNaN(days) || days < 0) continue;
    const age = days === 0 ? "today" : days === 1 ? "yesterday" : `${days} days ago`;
    time.append(` (${age})`);
    time.dataset.aged = "yes";
  }
};
if (typeof document$ === "undefined") document.addEventListener("DOMContentLoaded", addAges);
else document$.subscribe(addAges);
