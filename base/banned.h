/* banned.h - functions that must not be used; force-included into every C file of the project. */
#ifndef MS_BASE_BANNED_H
#define MS_BASE_BANNED_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#undef alloca
#pragma GCC poison strcpy strcat sprintf vsprintf strtok atoi atof atol gets localtime rand srand  \
    alloca
#endif
