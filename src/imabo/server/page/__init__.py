"""The page's own files: HTML, style sheets and ES modules, served as they are."""
