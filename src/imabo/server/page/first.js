// Before anything is painted: the theme that was chosen here before.
try {
  const chosen = localStorage.getItem("imabo-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // storage is switched off: the theme follows the system
}
