/* core/base/privileged.h: programs that have more rights than their caller (setuid, setgid, file capabilities).
 * Our own variables are config.c; these are the variables of lower libraries, which load the files named there. */
#ifndef IST_BASE_PRIVILEGED_H
#define IST_BASE_PRIVILEGED_H

/* At the first init, before those libraries read them: removes their variables from the environment of a privileged
 * program, as the dynamic linker does with its own. No effect in other programs. */
void ist_privileged_clean_environment(void);

#endif
