"""Common given names in the languages whose words for columns are known: where many values are such, all are names."""

from __future__ import annotations

_GIVEN = """
    aaron abigail adam adriana agata agnes agnieszka ahmed aino aisha alan albert albin alejandro ales
    alessandro alex alexander alexandra alfred alice alina amanda amy ana anders andrea andreas andrej andrew
    andrzej angela anita ann anna anne anneli annika antal anthony anton antonia antonin antonio arkadiusz
    arthur ashley astrid aurelie barbara barbora bartosz beata beatriz benjamin bernd betty bianca birgit bjorn
    bogdan bozena bram brandon brian bruce bruno camilla camille carina carl carla carlos carmen carol carolyn
    catarina catherine celine charles charlotte cheryl chiara chloe christian christina christine christopher
    claire clara claudia cornelis cynthia daan dagmar daniel daniela dariusz david davide deborah dennis diane
    diego dieter dirk dominik donald donna dorota dorothy douglas duarte edward eeva elena elin elisa elisabeth
    elizabeth elzbieta emil emilia emily emma eric erik erika ernst esther ethan eugene eva evelyn ewa fabio
    fatima federico felix femke fernando filip filipe flavia florian frances francesca francesco francisco
    francois frank frantisek franz frederic frederik freja gabriel gabriela gary genevieve georg george gerald
    gerard gerrit giorgio giovanni giulia giuseppe gloria grace grazyna gregory grzegorz guillaume gunther
    gustav hana hanna hannah hanne hans harold heather heidi heikki heinrich heinz helen helena helga hendrik
    henrik henry hugo ida ignacio ilona ines ingeborg inger ingrid irena isabel isabella isabelle ivana jacek
    jack jacob jacqueline jakub james jan jana jane janet janice janusz jarmila jaroslav jason javier jean
    jeffrey jennifer jens jeremy jeroen jerry jerzy jesper jessica jette jiri joan joana joanna joao joaquin joe
    johan johanna johannes john jonas jonathan jorge jorgen jose josef joseph joshua joyce juan juana judith
    judy juha juhani jukka julia julie julien jurgen justin justyna jutta kai kaisa kalle kamil karel karen
    karin karl karolina karsten katarina katarzyna katerina katherine kathleen katja keith kelly kenneth kevin
    kimmo kirsi kirsten klara klaus krystyna krzysztof laila larry lars lasse laura lauren laurent lawrence
    leena lena lenka leon leonardo leonie libor liisa lina linda lisa lise logan lotte louis luca lucas lucia
    lucie lucja ludmila luigi luis luisa lukas lukasz maarit madison magdalena maja malgorzata manfred manon
    manuel marcel marcello marcin marco marek margaret margarida maria mariana marie marieke marilyn mario
    mariusz mark marketa markku markus marta martha martin martina mary mateusz matilda mats matteo matthew
    matthias matti maximilian megan mehmet melissa mette mia michael michal michel michele michelle miguel mika
    mikael mikko milan milena minna miroslav mogens mohamed mohammed monica monika nadia nancy natalia natalie
    nathalie nathan nicholas nicola nicole niels nikolaj nina noah nora olga olivia olli ondrej oscar otto pablo
    pamela paola paolo patricia patrick paul paula pavel pavla pawel peggy pekka per peter petr petra philip
    philippe pia pierre pieter piotr pirjo rachel radek rafael rafal ralph ramon rasmus raymond rebecca renata
    renate ricardo riccardo richard riitta rita robert roberto roger roman ronald rosa roy rui russell ruth ryan
    ryszard sabine samantha samuel sandra sanne sara sarah satu scott sean sebastian seppo sergio sharon shirley
    silvia simone sjoerd sofia sofie sophia sophie soren stanislaw stefan stefania stephanie stephen steven sune
    susan susanne svea sven tadeusz tarja teemu teresa terry theresa thierry thomas tiago tiina timo timothy
    tomas tomasz tuula tyler ulla ulrich ulrike ursula ute vaclav valentina vera veronika vincent virginia
    vladimir walter wanda wayne werner wieslaw willem william wojciech wolfgang xavier yves zachary zbigniew
    zdenek zofia zuzana
"""
GIVEN_NAMES = frozenset(_GIVEN.split())
